"""Classifies git failures: a missing program or unreadable data, for which the files are scanned in git's place, and
all others (C-1, CS-2).

A pure decision over git's messages, and a closed list: a refusal (ownership, permissions, objects that may not be
fetched, our own limits), a lock, a lack of memory and every message that is not listed here stay failures.
"""

from __future__ import annotations

import re
from enum import StrEnum

from gitindex.errors import GitDamaged, GitError, GitMissing


class Damage(StrEnum):
    """Which of its own data git cannot read."""

    OBJECT = "object"  # a commit, tree or blob, loose or in a pack
    INDEX = "index"
    HEAD = "head"  # HEAD, or the branch that it names
    CONFIG = "config"
    FORMAT = "format"  # made by a newer git
    REPOSITORY = "repository"  # a `.git` entry that git does not take for a repository


NEXT_STEPS = {
    Damage.OBJECT: "git fsck",
    Damage.INDEX: "git read-tree HEAD",  # writes a new index; what was staged in the damaged one is lost
    Damage.HEAD: "git fsck",
    Damage.CONFIG: "git config --list --show-origin",
    Damage.FORMAT: "update git",
    Damage.REPOSITORY: "restore what is missing in .git, or clone the repository again",
}

# Beside a message about data, these are the cause of it, and `git fsck` does not help.
_NO_DAMAGE = re.compile(
    rb"dubious ownership|unsafe repository|safe\.bareRepository|safe\.directory"
    rb"|Permission denied|Operation not permitted"
    rb"|promisor|lazy fetching disabled|transport '[^']*' not allowed"
    rb"|\.lock['\"]?: File exists|[Aa]nother git process"
    rb"|[Oo]ut of memory|Cannot allocate memory|Too many open files|No space left on device"
)
# The first that matches names the damage: messages about the index may name objects, never the other way round.
_SIGNS: tuple[tuple[Damage, re.Pattern[bytes]], ...] = (
    (Damage.FORMAT, re.compile(rb"Expected git repo version|unknown repository (version|extension)")),
    (Damage.CONFIG, re.compile(rb"bad config (file )?line \d+")),
    (
        Damage.INDEX,
        re.compile(
            rb"index file corrupt|index file smaller than expected|bad index (file|version)|bad signature 0x"
            rb"|malformed name field in the index|unknown index entry format|(unordered|multiple) stage entries"
            rb"|broken index, expect|unable to map index file"
        ),
    ),
    (
        Damage.HEAD,
        re.compile(
            rb"your current branch appears to be broken|[Ff]ailed to resolve HEAD"
            rb"|unable to resolve reference|(bad|broken) ref\b|reference broken"
        ),
    ),
    (
        Damage.OBJECT,
        re.compile(
            rb"bad (tree )?object|not a (valid )?(tree|commit|blob) object|is corrupt\b|corrupt loose object"
            rb"|object file \S+ is empty|unable to (unpack|parse) \S+ header|inflate: data stream error"
            rb"|[Cc]ould not (read|parse commit) |unable to (read|load)( root)? tree|unable to read [0-9a-f]{40}"
            rb"|failed to (read object|unpack (HEAD )?tree)|missing (blob|tree|commit)"
            rb"|packfile \S+ (does not match index|is far too short|cannot be accessed|is not a GIT packfile)"
            rb"|index file \S+\.idx (is|claims|for)|[0-9a-f]{40} cannot be read"
        ),
    ),
)


def find_damage(stderr: bytes) -> Damage | None:
    """What git reports as unreadable; None for every other failure."""
    if _NO_DAMAGE.search(stderr):
        return None
    return next((kind for kind, sign in _SIGNS if sign.search(stderr)), None)


def damage_error(kind: Damage, message: str, **detail: object) -> GitDamaged:
    return GitDamaged(message, hint=NEXT_STEPS[kind], kind=str(kind), **detail)


def allows_file_scan(error: GitError) -> bool:
    """May the files be scanned in git's place? Decided by the exact class: a subclass added later does not count."""
    return type(error) in (GitMissing, GitDamaged)

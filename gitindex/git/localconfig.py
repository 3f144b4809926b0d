"""Searches a repository's own git configuration for words, without starting git.

Most repositories configure no filter, no include and no promisor; git is asked only where such a word occurs. Git
ignores the case of section names and reads none across lines, so a word that does not occur has no effect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

_MAX_BYTES = 1024 * 1024  # git's own parser needs none of this; a larger file counts as mentioning everything


class ConfigLocation(Protocol):
    @property
    def git_dir(self) -> Path: ...
    @property
    def common_dir(self) -> Path: ...


def mentions(repo: ConfigLocation, *words: bytes) -> bool:
    """Whether a file that git reads as this repository's configuration holds one of the lower-case words."""
    return any(
        _contains_word(path, words) for path in (repo.common_dir / "config", repo.git_dir / "config.worktree")
    )


def names_sha256(common_dir: Path) -> bool:
    """Whether a configuration that git was not asked about seems to choose the longer ids."""
    path = common_dir / "config"
    return _contains_word(path, (b"objectformat",)) and _contains_word(path, (b"sha256",))


def _contains_word(path: Path, words: tuple[bytes, ...]) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_BYTES + 1).lower()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return len(text) > _MAX_BYTES or any(word in text for word in words)

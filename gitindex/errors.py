"""The exception tree. A class owns its exit code; an instance owns its next step.

Raise these below; `cli.boundary` and `mcp` convert them once. Nothing here imports anything.
"""

from __future__ import annotations

from typing import ClassVar


class GitindexError(Exception):
    """Something failed: a message for people and the command that helps."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, hint: str | None = None, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


# -- 2: wrong usage or bad configuration ---------------------------------------------------------


class UsageError(GitindexError):
    exit_code = 2
    code = "usage"


class ConfigError(UsageError):
    code = "bad_config"


class UnsafePath(UsageError):
    """A path that leaves the root or has no canonical key."""

    code = "unsafe_path"


class NotAllowed(UsageError):
    """A directory that an MCP server does not answer for (EN-8)."""

    code = "not_allowed"


class KeyExposed(UsageError):
    """A signing key is where an indexer, or project code that it runs, could read it (RE-14)."""

    code = "key_exposed"


# -- 1: failed ----------------------------------------------------------------------------------


class GitError(GitindexError):
    code = "git"


class NotARepository(GitError):
    code = "not_a_repository"


class TransientGitError(GitError):
    """Git was busy (index.lock and the like) for longer than the bounded back-off."""

    code = "git_busy"


class GitMissing(GitError):
    """There is no git program on PATH (C-1)."""

    code = "git_not_installed"


class GitDamaged(GitError):
    """Git cannot read its own data: `detail["kind"]` says which (C-1, `git.failure`)."""

    code = "git_damaged"


class MissingObjects(GitError):
    """A partial clone lacks objects, and the user does not let git fetch them (CF-5)."""

    code = "missing_objects"


class TreeTooLarge(GitError):
    """A tree of more files or longer paths than are indexed: a few kilobytes of git can hold a billion files."""

    code = "tree_too_large"


class UnreadableFile(GitindexError):
    """A file could not be read; of an eligible changed one that blocks a strict publish (SN-5)."""

    code = "unreadable_file"


class PublishBlocked(GitindexError):
    """A strict publish was refused: files failed, paths collide, or a count does not add up."""

    code = "publish_blocked"


class WriteVerificationFailed(PublishBlocked):
    """What was written is not what was planned: an engine lost something. Writing it again may help."""


class EmbeddingError(GitindexError):
    code = "embedding"


class WorkerFailed(GitindexError):
    """A process of ours could not do its work: a mistake of ours or a broken installation, no limit."""

    code = "worker_failed"


class ExactFactsError(GitindexError):
    """An indexer run was not accepted, or its output could not be imported."""

    code = "semantic"


class StorageFull(GitindexError):
    code = "storage_full"


class StoreUnwritable(GitindexError):
    code = "store_unwritable"


class StoreNotShareable(StoreUnwritable):
    """The file system cannot carry a store that a group shares (ST-3)."""

    code = "store_not_shareable"


class ForeignStore(GitindexError):
    """A store that belongs to somebody else, or that others may write (ST-3)."""

    code = "foreign_store"


class OutputFailed(GitindexError):
    """The answer could not be written: stdout is closed, or on a full disk."""

    code = "output"


class HookError(GitindexError):
    code = "hook"


# -- 3: gated -----------------------------------------------------------------------------------


class Gated(GitindexError):
    """The index cannot answer now; `detail['envelope']` is the answer built by `gate`."""

    exit_code = 3
    code = "gated"


# -- 4: integrity -------------------------------------------------------------------------------


class IntegrityError(GitindexError):
    exit_code = 4
    code = "integrity"


class StoreCorrupt(IntegrityError):
    code = "store_corrupt"


class ChecksumMismatch(IntegrityError):
    """An artifact's size or hash differs from its manifest (SN-7)."""

    code = "checksum_mismatch"


# -- 5: untrusted -------------------------------------------------------------------------------


class Untrusted(GitindexError):
    exit_code = 5
    code = "untrusted"


# -- 6: remote ----------------------------------------------------------------------------------


class RemoteError(GitindexError):
    exit_code = 6
    code = "remote"


class RemoteUnavailable(RemoteError):
    code = "remote_unavailable"


class RemoteTooSlow(RemoteUnavailable):
    """An operation was given up at its deadline: answers dripped, or went on without end (EN-8)."""

    code = "remote_too_slow"


class RemoteRedirected(RemoteUnavailable):
    """The server points elsewhere. Nobody goes there: credentials stay with the host they are for (RE-10)."""

    code = "remote_redirected"


class RemoteMisbehaves(RemoteError):
    """The server breaks the protocol: pages of a listing that lead nowhere."""

    code = "remote_misbehaves"


class RemoteDenied(RemoteError):
    code = "remote_denied"


class RemoteMissing(RemoteError):
    """A key that is not there. A fact, not a failure: callers decide."""

    code = "remote_missing"


class OutcomeUnknown(RemoteError):
    """A write whose answer was lost: it may or may not have landed."""

    code = "outcome_unknown"


# -- 7: busy ------------------------------------------------------------------------------------


class LeaseHeld(GitindexError):
    exit_code = 7
    code = "busy"


class LeaseLost(GitindexError):
    """Our lease was stolen or vanished: stop, leave nothing visible (LE-1)."""

    exit_code = 7
    code = "lease_lost"


# -- 8: versions --------------------------------------------------------------------------------


class IncompatibleVersion(GitindexError):
    exit_code = 8
    code = "incompatible"

"""The exception tree. A class has the exit code, an instance the next step.

All packages raise these; only `cli.boundary` and `mcp` turn them into answers. Imports nothing of gitindex.
"""

from __future__ import annotations

from typing import ClassVar


class GitindexError(Exception):
    """Something failed: a message for people, and in `hint` the command that helps."""

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
    """Git was busy (index.lock and the like) for longer than the retries last."""

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
    """A tree has more files or longer paths than the limit: a few kilobytes of git can hold a billion files."""

    code = "tree_too_large"


class UnreadableFile(GitindexError):
    """A file could not be read. If it is eligible and changed, that blocks a strict publish (SN-5)."""

    code = "unreadable_file"


class PublishBlocked(GitindexError):
    """A strict publish was refused: files failed, paths collide, or a count does not add up."""

    code = "publish_blocked"


class WriteVerificationFailed(PublishBlocked):
    """A read-back after the write found less than was planned. Writing again may help."""


class EmbeddingError(GitindexError):
    code = "embedding"


class WorkerFailed(GitindexError):
    """A worker process failed: by a defect of ours or a broken installation, not by a limit."""

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
    """The index cannot answer now; `detail['envelope']` is the gate answer."""

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
    """An operation reached its deadline: the server answered too slowly, or without end (EN-8)."""

    code = "remote_too_slow"


class RemoteRedirected(RemoteUnavailable):
    """The server redirects. Redirects are not followed: credentials stay with their host (RE-10)."""

    code = "remote_redirected"


class RemoteMisbehaves(RemoteError):
    """The server breaks the protocol: the pages of a listing never end, or repeat."""

    code = "remote_misbehaves"


class RemoteDenied(RemoteError):
    code = "remote_denied"


class RemoteMissing(RemoteError):
    """The remote has no object with this key. Callers decide whether that is a failure."""

    code = "remote_missing"


class OutcomeUnknown(RemoteError):
    """The answer to a write was lost: the object may or may not have been written."""

    code = "outcome_unknown"


# -- 7: busy ------------------------------------------------------------------------------------


class LeaseHeld(GitindexError):
    exit_code = 7
    code = "busy"


class LeaseLost(GitindexError):
    """Another process took our lease, or it vanished: stop, and publish nothing (LE-1)."""

    exit_code = 7
    code = "lease_lost"


# -- 8: versions --------------------------------------------------------------------------------


class IncompatibleVersion(GitindexError):
    exit_code = 8
    code = "incompatible"

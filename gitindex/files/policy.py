"""Eligibility (EL-1, EL-6): one pure policy for indexing, navigation, metadata and fallback search.

Three questions, cheapest first: what the path says, what the size says, what the bytes say; None means
eligible so far. Includes only admit files of unknown language: they override no other rule (CF-1).
"""

from __future__ import annotations

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.language import language_of
from gitindex.model.settings import IndexSettings
from gitindex.model.skips import SkipReason

SUBMODULE_MODE = 0o160000

_HEAD = 4096
_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_MAX = 1024
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_TEXT = bytes((*b"\t\n\v\f\r\b\x1b", *range(32, 127), *range(128, 256)))
_CONTROL_RATIO = 10  # more than a tenth of control bytes is no text


class EligibilityPolicy:
    def __init__(self, settings: IndexSettings, ignore: Ignore) -> None:
        self._limit = settings.limits.file_bytes
        self._ignore = ignore
        self._include = Ignore([IgnoreRules.from_globs(settings.include)])
        self._exclude = Ignore([IgnoreRules.from_globs(settings.exclude)])

    def path_skip(self, path_key: str, mode: int) -> SkipReason | None:
        """The skip that name and mode alone decide. A name without a suffix may be a script: only its bytes tell."""
        if self._ignore.is_ignored(path_key, mode == SUBMODULE_MODE):
            return SkipReason.IGNORED
        if self._exclude.is_ignored(path_key, mode == SUBMODULE_MODE):
            return SkipReason.EXCLUDED
        if mode == SUBMODULE_MODE:
            return SkipReason.SUBMODULE
        if language_of(path_key) or not _has_suffix(path_key) or self._is_included(path_key):
            return None
        return SkipReason.UNSUPPORTED

    def content_skip(self, path_key: str, data: bytes) -> SkipReason | None:
        """The skip that the content decides; call it with a path that `path_skip` accepts."""
        if len(data) > self._limit:
            return SkipReason.TOO_LARGE
        if len(data) <= _LFS_MAX and data.startswith(_LFS):
            return SkipReason.LFS_POINTER
        encoding = _encoding_skip(data)
        if encoding:
            return encoding
        if language_of(path_key, data[:_HEAD]) or self._is_included(path_key):
            return None
        return SkipReason.UNSUPPORTED

    def _is_included(self, path_key: str) -> bool:
        return self._include.is_ignored(path_key, False)


def _encoding_skip(data: bytes) -> SkipReason | None:
    if data.startswith(_UTF16):
        return SkipReason.ENCODING
    if b"\0" in data or _is_noise(data[:_HEAD]):
        return SkipReason.BINARY
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return SkipReason.ENCODING
    return None


def _is_noise(head: bytes) -> bool:
    return len(head.translate(None, _TEXT)) * _CONTROL_RATIO > len(head)


def _has_suffix(path_key: str) -> bool:
    """A leading dot makes a hidden file, not an extension."""
    return "." in path_key.rpartition("/")[2].lstrip(".")

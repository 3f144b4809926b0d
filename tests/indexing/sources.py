"""A source tree in memory, for tests of planning and reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.policy import EligibilityPolicy
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.settings import IndexSettings
from gitindex.source.source_file import FILE, LINK, Content, SourceFile


def source_file(key: str, blob: str = "", *, mode: int = FILE, from_worktree: bool = False) -> SourceFile:
    return SourceFile(key, key.encode(), mode, blob, from_worktree)


def policy_ignoring(*globs: str) -> EligibilityPolicy:
    return EligibilityPolicy(IndexSettings(), Ignore([IgnoreRules.from_globs(globs)]))


class MemorySource:
    """`files` maps paths to bytes, or to what reading them gives; `links` maps paths to their targets."""

    algorithm = "sha1"
    git_state = GitState()

    def __init__(
        self,
        files: Mapping[str, bytes | Content],
        *,
        links: Mapping[str, bytes] | None = None,
        dirty: Sequence[str] = (),
    ) -> None:
        self._links = dict(links or {})
        self._contents = {key: _as_content(value) for key, value in {**files, **self._links}.items()}
        self.dirty_paths = tuple(dirty)
        self.duplicate_spellings: tuple[tuple[str, str], ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def list_changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, SourceFile | None] | None:
        return None

    def list_files(self) -> dict[str, SourceFile]:
        return {
            key: source_file(
                key,
                content.blob,
                mode=LINK if key in self._links else FILE,
                from_worktree=key in self.dirty_paths,
            )
            for key, content in self._contents.items()
        }

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        return self._contents[item.key]

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        for item in items:
            yield item, self._contents[item.key]


def _as_content(value: bytes | Content) -> Content:
    if isinstance(value, Content):
        return value
    return Content(data=value, blob=sha256_hex(value)[:40], size=len(value))

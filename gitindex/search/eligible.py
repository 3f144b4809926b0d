"""The files that indexing would take, with their text: one policy for both (EL-6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gitindex.files.language import language_of
from gitindex.files.policy import EligibilityPolicy
from gitindex.indexing.plan import PlannedFile, Planner
from gitindex.source.source_file import SourceTree

_HEAD = 4096


class TextFile(NamedTuple):
    path: str
    language: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def list_eligible(source: SourceTree, policy: EligibilityPolicy) -> list[PlannedFile]:
    """What a sync would read, in path order; nothing is opened that it would not open."""
    return [
        work for work in Planner(None, source, policy).plan(whole=True).write if work.source_file is not None
    ]


def read(
    source: SourceTree,
    policy: EligibilityPolicy,
    works: Sequence[PlannedFile],
    accepts: Callable[[str], bool] = lambda _: True,
) -> Iterator[TextFile]:
    """Files whose content is eligible too."""
    chosen = [work for work in works if accepts(work.key)]
    items = [work.source_file for work in chosen if work.source_file is not None]
    for work, (_, content) in zip(chosen, source.read(items), strict=True):
        readable = not (content.vanished or content.error or content.skip is not None)
        if readable and policy.content_skip(work.key, content.data) is None:
            yield TextFile(work.key, language_of(work.key, content.data[:_HEAD]) or "", content.data)

"""Search engines that a long-lived process keeps from one question to the next, each for one snapshot of one store.

An engine that is replaced or pushed out is closed, but not under a question that still uses it: the last one to let go
of it closes it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from gitindex.extract.embed.protocol import Embedder
from gitindex.model.settings import EmbedSettings
from gitindex.ops.codebase import Codebase
from gitindex.search.engine import Engine
from gitindex.view.snapshot import SnapshotView

_WARM = 4  # stores whose loaded state is kept
OpenEmbedder = Callable[[EmbedSettings], Embedder | None]


class _Kept:
    """An engine and how many questions use it now."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.users = 0
        self.replaced = False

    @property
    def snapshot_id(self) -> str:
        return self.engine.view.manifest.snapshot_id


_kept: OrderedDict[str, _Kept] = OrderedDict()
_lock = Lock()


@contextmanager
def engine(codebase: Codebase, view: SnapshotView, embedder: OpenEmbedder) -> Iterator[Engine]:
    """The engine of this snapshot, kept from an earlier question if there was one; `view` pins it meanwhile."""
    with _lock:
        kept = _of(codebase, view, embedder)
        kept.users += 1
        _drop_oldest()
    try:
        yield kept.engine
    finally:
        with _lock:
            kept.users -= 1
            _close_unused(kept)


def close(codebase: Codebase) -> None:
    """Keep nothing of this store: it is about to be deleted."""
    with _lock:
        _drop(str(codebase.layout.base))


def _of(codebase: Codebase, view: SnapshotView, embedder: OpenEmbedder) -> _Kept:
    store = str(codebase.layout.base)
    kept = _kept.get(store)
    if kept is None or kept.snapshot_id != view.manifest.snapshot_id:
        _drop(store)
        settings = codebase.settings
        fresh = Engine(
            view.copy_without_lock(), codebase.root, settings.query, lambda: embedder(settings.embedding)
        )
        kept = _kept[store] = _Kept(fresh)
    _kept.move_to_end(store)
    return kept


def _drop_oldest() -> None:
    while len(_kept) > _WARM:
        _drop(next(iter(_kept)))


def _drop(store: str) -> None:
    kept = _kept.pop(store, None)
    if kept is not None:
        kept.replaced = True
        _close_unused(kept)


def _close_unused(kept: _Kept) -> None:
    if kept.replaced and kept.users == 0:
        kept.engine.view.close()

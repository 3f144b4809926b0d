"""Search engines that a long-lived process keeps from one question to the next, each for one snapshot of one store.

An engine that is replaced or evicted is closed by its last user.
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

_MAX_OPEN = 4  # stores whose engine stays open
OpenEmbedder = Callable[[EmbedSettings], Embedder | None]


class _CachedEngine:
    """An engine and how many questions use it now."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.users = 0
        self.evicted = False

    @property
    def snapshot_id(self) -> str:
        return self.engine.view.manifest.snapshot_id


_cache: OrderedDict[str, _CachedEngine] = OrderedDict()
_lock = Lock()


@contextmanager
def use_engine(codebase: Codebase, view: SnapshotView, open_embedder: OpenEmbedder) -> Iterator[Engine]:
    """The engine of this snapshot, kept from an earlier question if there was one; `view` pins it meanwhile."""
    with _lock:
        cached = _find_or_open(codebase, view, open_embedder)
        cached.users += 1
        _drop_oldest()
    try:
        yield cached.engine
    finally:
        with _lock:
            cached.users -= 1
            _close_unused(cached)


def close(codebase: Codebase) -> None:
    """Keep nothing of this store: it is about to be deleted."""
    with _lock:
        _drop(str(codebase.layout.base))


def _find_or_open(codebase: Codebase, view: SnapshotView, open_embedder: OpenEmbedder) -> _CachedEngine:
    store = str(codebase.layout.base)
    cached = _cache.get(store)
    if cached is None or cached.snapshot_id != view.manifest.snapshot_id:
        _drop(store)
        settings = codebase.settings
        fresh = Engine(
            view.copy_without_lock(), codebase.root, settings.query, lambda: open_embedder(settings.embedding)
        )
        cached = _cache[store] = _CachedEngine(fresh)
    _cache.move_to_end(store)
    return cached


def _drop_oldest() -> None:
    while len(_cache) > _MAX_OPEN:
        _drop(next(iter(_cache)))


def _drop(store: str) -> None:
    cached = _cache.pop(store, None)
    if cached is not None:
        cached.evicted = True
        _close_unused(cached)


def _close_unused(cached: _CachedEngine) -> None:
    if cached.evicted and cached.users == 0:
        cached.engine.view.close()

"""How far a create or reindex has come, in the form that the gate shows while the store does not say so yet."""

from __future__ import annotations

from gitindex.store.state_file import IndexingProgress, now

__all__ = ["IndexingProgress", "initial_progress", "measure_progress", "now"]


def initial_progress() -> IndexingProgress:
    return IndexingProgress(None, "starting", now())


def measure_progress(phase: str, done: int, total: int) -> IndexingProgress:
    """Without a total there is no percentage."""
    return IndexingProgress(round(100 * done / total, 1) if total else None, phase, now())

"""Refuses stores that a newer release wrote (ST-6), also for commands that change a store without reading all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gitindex.errors import IncompatibleVersion, IntegrityError, StoreCorrupt
from gitindex.model import versions
from gitindex.model.manifest import Manifest
from gitindex.segment.facts import Facts
from gitindex.store import lease, manifests, state_file
from gitindex.store.layout import Layout


def check_control_files(layout: Layout) -> None:
    """Raises IncompatibleVersion for a state file or a lease of another release. Ignores damage."""
    state_file.read(layout)
    with suppress(StoreCorrupt):
        lease.read(layout)


def read_manifests(layout: Layout) -> dict[str, Manifest]:
    """The manifests of the store by snapshot id, each read once; without those that are damaged or too old to read.

    Raises IncompatibleVersion when anything of the store was written by a newer release.
    """
    check_control_files(layout)
    active_id = manifests.read_active_id(layout)
    manifests_by_id = {}
    for snapshot_id in manifests.list_ids(layout):
        with suppress(IntegrityError), _ignore_older():
            manifests_by_id[snapshot_id] = manifests.read(layout, snapshot_id)
    if active_id in manifests_by_id:
        with suppress(IntegrityError), _ignore_older():
            _open_facts(layout, manifests_by_id[active_id])
    return manifests_by_id


@contextmanager
def _ignore_older() -> Iterator[None]:
    """Suppress IncompatibleVersion for what an older release wrote."""
    try:
        yield
    except IncompatibleVersion as error:
        if versions.is_newer(error):
            raise


def _open_facts(layout: Layout, manifest: Manifest) -> None:
    for segment in manifest.segments:
        Facts(layout.facts(segment.id)).close()

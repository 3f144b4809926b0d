"""Refuses stores that a newer release wrote (ST-6), also for commands that change a store without reading all of it."""

from __future__ import annotations

from contextlib import suppress

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


def refuse_newer(layout: Layout) -> None:
    """Raises IncompatibleVersion when anything of the store was written by a newer release.

    Ignores damage, and manifests of older releases that this one cannot read any more.
    """
    check_control_files(layout)
    active_id = manifests.read_active_id(layout)
    for snapshot_id in manifests.list_ids(layout):
        with suppress(IntegrityError):
            try:
                manifest = manifests.read(layout, snapshot_id)
                if snapshot_id == active_id:
                    _open_facts(layout, manifest)
            except IncompatibleVersion as error:
                if versions.is_newer(error):
                    raise


def _open_facts(layout: Layout, manifest: Manifest) -> None:
    for segment in manifest.segments:
        Facts(layout.facts(segment.id)).close()

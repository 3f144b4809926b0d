"""How much a refresh covers (SE-4). Pure; a lattice under `merge`, whose top is everything.

files ⊂ packages ⊂ full, and `changed_since` by earlier time. `None` is full, as in the stored form.
A package is a directory of the repository and covers the files below it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gitindex.errors import ExactFactsError


@dataclass(frozen=True, slots=True)
class Scope:
    """A union of its parts; sorted, without files that a package already covers."""

    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    changed_since: float | None = None


def scope(
    files: tuple[str, ...] = (), packages: tuple[str, ...] = (), changed_since: float | None = None
) -> Scope:
    """The canonical scope of these parts."""
    kept = tuple(sorted({p for p in packages if not any(_inside(p, q) for q in packages if q != p)}))
    loose = tuple(sorted({f for f in files if not any(_inside(f, p) for p in kept)}))
    return Scope(loose, kept, changed_since)


def merge(a: Scope | None, b: Scope | None) -> Scope | None:
    """The narrowest scope that covers both."""
    if a is None or b is None:
        return None
    times = [at for at in (a.changed_since, b.changed_since) if at is not None]
    return scope(a.files + b.files, a.packages + b.packages, min(times, default=None))


def covers(wide: Scope | None, narrow: Scope | None) -> bool:
    return merge(wide, narrow) == (
        None if wide is None else scope(wide.files, wide.packages, wide.changed_since)
    )


def selects(chosen: Scope | None, path: str, changed_at: float | None = None) -> bool:
    """Whether a file lies in the scope; an unknown time of change counts as changed."""
    if chosen is None or path in chosen.files or any(_inside(path, package) for package in chosen.packages):
        return True
    if chosen.changed_since is None:
        return False
    return changed_at is None or changed_at >= chosen.changed_since


def to_json(chosen: Scope | None) -> str | None:
    """The stored form; None (SQL NULL) is full."""
    if chosen is None:
        return None
    value = {
        "files": list(chosen.files),
        "packages": list(chosen.packages),
        "changed_since": chosen.changed_since,
    }
    return json.dumps(value, sort_keys=True)


def from_json(text: str | None) -> Scope | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
        return scope(tuple(value["files"]), tuple(value["packages"]), value["changed_since"])
    except (ValueError, KeyError, TypeError) as error:
        shown = text[:80]
        raise ExactFactsError(
            f"stored refresh scope is not readable: {shown!r}", hint="gitindex refresh"
        ) from error


def _inside(path: str, package: str) -> bool:
    return package == "" or path == package or path.startswith(package.rstrip("/") + "/")

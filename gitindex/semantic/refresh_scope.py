"""How much a refresh covers (SE-4). Pure; a lattice under `merge`, whose top is everything.

files ⊂ packages ⊂ full, and `changed_since` by earlier time. `None` is full, as in the stored form.
A package is a directory of the repository and covers the files below it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gitindex.errors import ExactFactsError


@dataclass(frozen=True, slots=True)
class RefreshScope:
    """A union of its parts; sorted, without files that a package already covers."""

    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    changed_since: float | None = None


def canonical_scope(
    files: tuple[str, ...] = (), packages: tuple[str, ...] = (), changed_since: float | None = None
) -> RefreshScope:
    """The canonical scope of these parts."""
    outer_packages = tuple(
        sorted({p for p in packages if not any(_is_inside(p, q) for q in packages if q != p)})
    )
    loose_files = tuple(sorted({f for f in files if not any(_is_inside(f, p) for p in outer_packages)}))
    return RefreshScope(loose_files, outer_packages, changed_since)


def merge(a: RefreshScope | None, b: RefreshScope | None) -> RefreshScope | None:
    """The narrowest scope that covers both."""
    if a is None or b is None:
        return None
    times = [time for time in (a.changed_since, b.changed_since) if time is not None]
    return canonical_scope(a.files + b.files, a.packages + b.packages, min(times, default=None))


def covers(wide: RefreshScope | None, narrow: RefreshScope | None) -> bool:
    return merge(wide, narrow) == (
        None if wide is None else canonical_scope(wide.files, wide.packages, wide.changed_since)
    )


def selects(scope: RefreshScope | None, path: str, changed_at: float | None = None) -> bool:
    """Whether a file lies in the scope; an unknown time of change counts as changed."""
    if scope is None or path in scope.files or any(_is_inside(path, package) for package in scope.packages):
        return True
    if scope.changed_since is None:
        return False
    return changed_at is None or changed_at >= scope.changed_since


def to_json(scope: RefreshScope | None) -> str | None:
    """The stored form; None (SQL NULL) is full."""
    if scope is None:
        return None
    fields = {
        "files": list(scope.files),
        "packages": list(scope.packages),
        "changed_since": scope.changed_since,
    }
    return json.dumps(fields, sort_keys=True)


def from_json(text: str | None) -> RefreshScope | None:
    if text is None:
        return None
    try:
        fields = json.loads(text)
        return canonical_scope(tuple(fields["files"]), tuple(fields["packages"]), fields["changed_since"])
    except (ValueError, KeyError, TypeError) as error:
        excerpt = text[:80]
        raise ExactFactsError(
            f"stored refresh scope is not readable: {excerpt!r}", hint="gitindex refresh"
        ) from error


def _is_inside(path: str, package: str) -> bool:
    return package == "" or path == package or path.startswith(package.rstrip("/") + "/")

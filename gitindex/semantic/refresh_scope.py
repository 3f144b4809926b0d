"""The scope of a refresh: files, packages, or everything (SE-4). Pure.

Scopes form a lattice under `merge`; its top is `None`, which means everything, here and in the stored form. A package
is a directory of the repository and covers the files below it. An earlier `changed_since` covers a later one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gitindex.errors import ExactFactsError


@dataclass(frozen=True, slots=True)
class RefreshScope:
    """The union of its parts. Canonical when the parts are sorted and no package covers another part."""

    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    changed_since: float | None = None


def canonical_scope(
    files: tuple[str, ...] = (), packages: tuple[str, ...] = (), changed_since: float | None = None
) -> RefreshScope:
    """The scope of these parts in its one canonical form: equal scopes compare equal."""
    outer_packages = {
        package
        for package in packages
        if not any(_is_inside(package, other) for other in packages if other != package)
    }
    loose_files = {file for file in files if not any(_is_inside(file, package) for package in outer_packages)}
    return RefreshScope(tuple(sorted(loose_files)), tuple(sorted(outer_packages)), changed_since)


def merge(a: RefreshScope | None, b: RefreshScope | None) -> RefreshScope | None:
    """The narrowest scope that covers both."""
    if a is None or b is None:
        return None
    times = [time for time in (a.changed_since, b.changed_since) if time is not None]
    return canonical_scope(a.files + b.files, a.packages + b.packages, min(times, default=None))


def covers(wide: RefreshScope | None, narrow: RefreshScope | None) -> bool:
    """Whether merging `narrow` into `wide` changes nothing."""
    return merge(wide, narrow) == (
        None if wide is None else canonical_scope(wide.files, wide.packages, wide.changed_since)
    )


def selects(scope: RefreshScope | None, path: str, changed_at: float | None = None) -> bool:
    """Whether a file is in the scope; a file whose time of change is unknown counts as changed."""
    if scope is None or path in scope.files or any(_is_inside(path, package) for package in scope.packages):
        return True
    if scope.changed_since is None:
        return False
    return changed_at is None or changed_at >= scope.changed_since


def to_json(scope: RefreshScope | None) -> str | None:
    """The stored form; None (SQL NULL) means everything."""
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

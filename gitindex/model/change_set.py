"""What differs between the tree that a snapshot describes and the tree to index (CS-1)."""

from __future__ import annotations

from gitindex.model.frozen import frozen
from gitindex.model.paths import PathKey


@frozen
class ChangeSet:
    """Path keys, each list sorted; a path stands in exactly one list (`rename` holds old and new)."""

    add: tuple[PathKey, ...] = ()
    modify: tuple[PathKey, ...] = ()
    delete: tuple[PathKey, ...] = ()
    rename: tuple[tuple[PathKey, PathKey], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.add or self.modify or self.delete or self.rename)

    @property
    def written_paths(self) -> tuple[PathKey, ...]:
        """Paths whose content the next segment must hold."""
        return tuple(sorted((*self.add, *self.modify, *(new for _, new in self.rename))))

    @property
    def removed_paths(self) -> tuple[PathKey, ...]:
        return tuple(sorted((*self.delete, *(old for old, _ in self.rename))))

    def count_by_kind(self) -> dict[str, int]:
        return {
            "add": len(self.add),
            "modify": len(self.modify),
            "delete": len(self.delete),
            "rename": len(self.rename),
        }

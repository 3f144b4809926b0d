"""What differs between the tree a snapshot describes and the tree we want (CS-1)."""

from __future__ import annotations

from gitindex.model.frozen import frozen


@frozen
class ChangeSet:
    """Path keys, each list sorted; a path stands in exactly one list (`rename` holds old and new)."""

    add: tuple[str, ...] = ()
    modify: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.add or self.modify or self.delete or self.rename)

    @property
    def written_paths(self) -> tuple[str, ...]:
        """Paths whose content the next segment must hold."""
        return tuple(sorted((*self.add, *self.modify, *(new for _, new in self.rename))))

    @property
    def removed_paths(self) -> tuple[str, ...]:
        return tuple(sorted((*self.delete, *(old for old, _ in self.rename))))

    def count_by_kind(self) -> dict[str, int]:
        return {
            "add": len(self.add),
            "modify": len(self.modify),
            "delete": len(self.delete),
            "rename": len(self.rename),
        }

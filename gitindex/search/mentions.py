"""Files that a pasted text names: by path, by module, by the frames of a traceback. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gitindex.search.clues import Clues

_PACKAGES = frozenset({"__init__", "index", "mod"})
_MOST_FILES = 8  # a name that fits more files says nothing
_DEEPEST = 3  # parts of a dotted name behind the module: Class.method.attribute
_EARLIER = 0.8  # each frame further out, of the one inside it


class PathTable:
    """The files of a snapshot by name and by module."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._named: dict[str, list[str]] = defaultdict(list)
        self._modules: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            parts = path.split("/")
            self._named[parts[-1].lower()].append(path)
            stem = parts[-1].partition(".")[0]
            module = parts[:-1] if stem in _PACKAGES else [*parts[:-1], stem]
            if module:
                self._modules[module[-1].lower()].append(path)

    def find_path(self, text: str) -> list[str]:
        """Files that end like the text, or that the text ends like."""
        wanted = "/" + text.lower()
        near = [(path, "/" + path.lower()) for path in self._named.get(wanted.rpartition("/")[2], ())]
        whole = [path for path, have in near if wanted.endswith(have)]
        return whole or [path for path, have in near if have.endswith(wanted)]

    def find_module(self, dotted: str) -> list[str]:
        """Files of the module, or of the longest beginning of the name that is one."""
        parts = dotted.lower().split(".")
        for end in range(len(parts), max(1, len(parts) - _DEEPEST), -1):
            tail = "/" + "/".join(parts[:end])
            found = [
                path for path in self._modules.get(parts[end - 1], ()) if _module_of(path).endswith(tail)
            ]
            if found:
                return found
        return []


def find_mentions(clues: Clues, table: PathTable) -> dict[str, float]:
    """How much the text points at each file, 1.0 for one path that fits one file."""
    strength: dict[str, float] = {}
    for found, share in _named_files(clues, table):
        if 0 < len(found) <= _MOST_FILES:
            for path in found:
                strength[path] = max(strength.get(path, 0.0), share / len(found))
    return strength


def _named_files(clues: Clues, table: PathTable) -> Iterator[tuple[list[str], float]]:
    for path in clues.paths:
        yield table.find_path(path), 1.0
    known = [found for frame in reversed(clues.frames) if (found := table.find_path(frame))]
    for at, found in enumerate(known):
        yield found, _EARLIER**at
    for name in clues.dotted:
        yield table.find_module(name), 1.0


def _module_of(path: str) -> str:
    folder, _, name = path.lower().rpartition("/")
    stem = name.partition(".")[0]
    return f"/{folder}" if stem in _PACKAGES else f"/{folder}/{stem}"

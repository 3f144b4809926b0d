"""Which directories an MCP server answers for (EN-8).

Allowed are the directory the server was started in with the repository around it, the directories that the user named
under `[mcp] roots`, and codebases that have an index already. Never allowed, whatever else is set: `/`, the home
directory of anybody, a directory that holds the user's home. Paths are compared as real paths, and twice: before git
is asked about a directory, and again with the root that git named.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import GitindexError, NotAllowed
from gitindex.git.repo import discover
from gitindex.model.foreign import quote_argument
from gitindex.store import stores
from gitindex.store.layout import root_hash
from gitindex.userconfig import FILE_NAME

_FIRST_PERSON = 1000  # below are accounts of services, some with homes such as /usr/sbin


class Roots:
    """The allowed roots of one server, by the directory it was started in and the user's configuration."""

    def __init__(self, environment: Environment, start: Path) -> None:
        self._environment = environment
        self._start = _real(start)

    def require(self, path: Path) -> Path:
        """`path` with its links resolved, if something allowed holds it. Asks git about the start directory at most.

        Raises NotAllowed.
        """
        place = _real(path)
        if self._within(place) or any(self._serves(folder) for folder in (place, *place.parents)):
            return place
        raise self._refusal(place)

    def require_root(self, root: Path) -> None:
        """Raises NotAllowed unless the server answers for the codebase at `root`, which is a real path."""
        if is_private(root) or not (self._within(root) or self.indexed(root)):
            raise self._refusal(root)

    def indexed(self, root: Path) -> bool:
        """Is there an index of this very root, with whatever settings it was made?"""
        mine = f"__{root_hash(root)}__"
        return any(mine in layout.id and layout.state.exists() for layout in stores.list_layouts(self._home))

    @property
    def _home(self) -> Path:
        return self._environment.home

    def _serves(self, folder: Path) -> bool:
        return self.indexed(folder) and not is_private(folder)

    def _within(self, place: Path) -> bool:
        return any(place.is_relative_to(base) for base in self._bases())

    def _bases(self) -> Iterator[Path]:
        """Directories that new codebases may be indexed in."""
        yield from self._named
        if not is_private(self._start):
            yield self._start
        if self._around is not None:
            yield self._around

    @cached_property
    def _named(self) -> tuple[Path, ...]:
        named = (_real(Path(name)) for name in self._environment.user.mcp_roots)
        return tuple(base for base in named if not is_private(base))

    @cached_property
    def _around(self) -> Path | None:
        """The repository that the server was started in."""
        with suppress(GitindexError):  # one that git refuses is nobody's start
            repo = discover(self._start)
            if repo is not None and not repo.bare and not is_private(repo.root):
                return repo.root
        return None

    def _refusal(self, place: Path) -> NotAllowed:
        setting = self._home / FILE_NAME
        if is_private(place):
            return NotAllowed(
                f"{place} is a home directory or holds one: it is neither indexed nor searched over MCP",
                hint="name one project in it",
            )
        bases = ", ".join(str(base) for base in dict.fromkeys(self._bases())) or "no directory"
        return NotAllowed(
            f"this server does not answer for {place}, only for {bases} and for codebases that have an index",
            hint=f"add the directory to roots under [mcp] in {quote_argument(str(setting))}, or start the server in it",
        )


def is_private(place: Path) -> bool:
    """Is it `/`, the home of anybody, or does it hold the home of this user or of another person?"""
    homes = _homes()
    return place == Path("/") or _is_home(place) or any(home.is_relative_to(place) for home in homes)


def _homes() -> list[Path]:
    """The homes of this user, by variable and by account, and of the other people with an account here."""
    people = [home for number, home in _accounts() if number == os.getuid() or number >= _FIRST_PERSON]
    return [*people, _real(Path(os.path.expanduser("~")))]


def _is_home(place: Path) -> bool:
    """Accounts of a directory service are not listed: the owner and the namesake of a directory are asked for."""
    names: set[str] = set()
    with suppress(KeyError, OSError):
        names.add(pwd.getpwuid(place.stat().st_uid).pw_dir)
    with suppress(KeyError, ValueError):
        names.add(pwd.getpwnam(place.name).pw_dir)
    named = {_real(Path(name)) for name in names if name}
    return place in named or any(place == home for _, home in _accounts())


@lru_cache(maxsize=1)
def _accounts() -> tuple[tuple[int, Path], ...]:
    """User number and home of every account that the system lists; asked for once, a listing may be long."""
    return tuple((account.pw_uid, _real(Path(account.pw_dir or "/"))) for account in pwd.getpwall())


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))

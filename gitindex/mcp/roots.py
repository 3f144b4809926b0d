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
from typing import NamedTuple

from gitindex.config import Environment
from gitindex.errors import NotAllowed
from gitindex.model.foreign import quote_argument
from gitindex.ops.discovery import find_worktree_root
from gitindex.ops.maintain.store_inventory import has_store
from gitindex.userconfig import FILE_NAME

_FIRST_USER_ID = 1000  # smaller ids are accounts of services, some with homes such as /usr/sbin


class AllowedRoots:
    """The allowed roots of one server, by the directory it was started in and the user's configuration."""

    def __init__(self, environment: Environment, start: Path) -> None:
        self._environment = environment
        self._start = _real_path(start)

    def require_allowed(self, path: Path) -> Path:
        """`path` with its links resolved, if it lies in an allowed directory. Runs git in the start directory at most.

        Raises NotAllowed.
        """
        real_path = _real_path(path)
        if self._is_in_base(real_path) or any(
            self._is_served(folder) for folder in (real_path, *real_path.parents)
        ):
            return real_path
        raise self._not_allowed_error(real_path)

    def require_root(self, root: Path) -> None:
        """Raises NotAllowed unless the server answers for the codebase at `root`, which is a real path."""
        if is_private(root) or not (self._is_in_base(root) or self.is_indexed(root)):
            raise self._not_allowed_error(root)

    def is_indexed(self, root: Path) -> bool:
        """Is there an index of this very root, with whatever settings it was made?"""
        return has_store(self._home, root)

    @property
    def _home(self) -> Path:
        return self._environment.home

    def _is_served(self, folder: Path) -> bool:
        return self.is_indexed(folder) and not is_private(folder)

    def _is_in_base(self, real_path: Path) -> bool:
        return any(real_path.is_relative_to(base) for base in self._allowed_bases())

    def _allowed_bases(self) -> Iterator[Path]:
        """Directories that new codebases may be indexed in."""
        yield from self._configured_roots
        if not is_private(self._start):
            yield self._start
        if self._start_repository is not None:
            yield self._start_repository

    @cached_property
    def _configured_roots(self) -> tuple[Path, ...]:
        roots = (_real_path(Path(name)) for name in self._environment.user.mcp_roots)
        return tuple(base for base in roots if not is_private(base))

    @cached_property
    def _start_repository(self) -> Path | None:
        """The repository that the server was started in."""
        root = find_worktree_root(self._start)  # None for a repository that git refuses: it is not allowed
        return None if root is None or is_private(root) else root

    def _not_allowed_error(self, path: Path) -> NotAllowed:
        config_file = self._home / FILE_NAME
        if is_private(path):
            return NotAllowed(
                f"{path} is a home directory or holds one: MCP neither indexes nor searches it",
                hint="name one project in it",
            )
        bases = ", ".join(str(base) for base in dict.fromkeys(self._allowed_bases())) or "no directory"
        return NotAllowed(
            f"this server does not answer for {path}, only for {bases} and for codebases that have an index",
            hint=f"add the directory to roots under [mcp] in {quote_argument(str(config_file))}, "
            "or start the server in it",
        )


def is_private(path: Path) -> bool:
    """Is it `/`, the home of anybody, or does it hold the home of this user or of another person?"""
    homes = _list_homes()
    return path == Path("/") or _is_home(path) or any(home.is_relative_to(path) for home in homes)


def _list_homes() -> list[Path]:
    """The homes of this user, by HOME and by account, and of the other people with an account here."""
    people = [
        account.home
        for account in _list_accounts()
        if account.uid == os.getuid() or account.uid >= _FIRST_USER_ID
    ]
    return [*people, _real_path(Path(os.path.expanduser("~")))]


def _is_home(path: Path) -> bool:
    """Directory services do not list their accounts: look up the owner of `path` and the account of its name."""
    home_names: set[str] = set()
    with suppress(KeyError, OSError):
        home_names.add(pwd.getpwuid(path.stat().st_uid).pw_dir)
    with suppress(KeyError, ValueError):
        home_names.add(pwd.getpwnam(path.name).pw_dir)
    homes = {_real_path(Path(name)) for name in home_names if name}
    return path in homes or any(path == account.home for account in _list_accounts())


class Account(NamedTuple):
    uid: int
    home: Path


@lru_cache(maxsize=1)
def _list_accounts() -> tuple[Account, ...]:
    """Every account that the system lists; read once, because the listing may be long."""
    return tuple(Account(entry.pw_uid, _real_path(Path(entry.pw_dir or "/"))) for entry in pwd.getpwall())


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))

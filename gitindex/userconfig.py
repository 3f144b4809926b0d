"""`$GITINDEX_HOME/config.toml`: what only the user may decide, for every repository on this machine.

Nothing here can be set by a repository. An unknown key or a wrong type is an error that names file and key.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitindex.errors import ConfigError
from gitindex.model import toml
from gitindex.model.foreign import quote_argument
from gitindex.model.frozen import frozen

FILE_NAME = "config.toml"
MAX_FILES = 500_000  # Chromium has 480,000; counting as many in a malicious tree takes seconds, not minutes
_MAX_BYTES = 64 * 1024


@frozen
class UserConfig:
    shared: bool = False  # stores are shared by a group (ST-3)
    include_untracked: bool | None = None  # None: in single-user stores only (ST-3)
    clean_only: bool = False  # index committed content only, whatever a repository says
    submodules: bool = False  # enter submodules where the repository requests it
    submodule_roots: tuple[str, ...] = ()  # repositories whose submodules are entered in any case
    max_files: int = MAX_FILES  # of one tree; a larger one is TreeTooLarge
    lazy_fetch: bool = False  # git may fetch missing objects of a partial clone from its remote
    mcp_roots: tuple[str, ...] = ()  # directories that MCP clients may name, besides indexed ones (EN-8)
    models: Mapping[str, str] | None = None  # model name → directory on this machine (CF-4)


def read_user_config(home: Path) -> UserConfig:
    """Defaults without a file. Raises ConfigError."""
    path = home / FILE_NAME
    try:
        with open(path, "rb") as handle:
            _check_owner(path, os.fstat(handle.fileno()))
            data = handle.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return UserConfig()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", hint=f"fix {quote_argument(str(path))}") from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than {_MAX_BYTES} bytes", hint=f"fix {quote_argument(str(path))}"
        )
    return _parse(path, data)


def _check_owner(path: Path, file_stat: os.stat_result) -> None:
    """The home may be shared: only this user and the administrator may write the configuration of this user."""
    if file_stat.st_uid not in (os.geteuid(), 0) or file_stat.st_mode & stat.S_IWOTH:
        raise ConfigError(
            f"{path} belongs to another user, or everybody may write it",
            hint="set GITINDEX_HOME to a directory of your own",
        )


def _parse(path: Path, data: bytes) -> UserConfig:
    try:
        tables = toml.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}", hint=f"fix {quote_argument(str(path))}") from error
    reader = _UserConfigReader(path)
    reader.reject_unknown_keys("", tables, {"shared", "index", "git", "mcp", "models"})
    index = reader.read_table(tables, "index")
    git = reader.read_table(tables, "git")
    mcp = reader.read_table(tables, "mcp")
    models = reader.read_table(tables, "models")
    reader.reject_unknown_keys(
        "index.", index, {"include_untracked", "clean_only", "submodules", "submodule_roots", "max_files"}
    )
    reader.reject_unknown_keys("git.", git, {"lazy_fetch"})
    reader.reject_unknown_keys("mcp.", mcp, {"roots"})
    return UserConfig(
        shared=reader.read_flag("", tables, "shared"),
        include_untracked=reader.read_flag("index.", index, "include_untracked")
        if "include_untracked" in index
        else None,
        clean_only=reader.read_flag("index.", index, "clean_only"),
        submodules=reader.read_flag("index.", index, "submodules"),
        submodule_roots=reader.read_paths("index.", index, "submodule_roots"),
        max_files=reader.read_number("index.", index, "max_files", MAX_FILES),
        lazy_fetch=reader.read_flag("git.", git, "lazy_fetch"),
        mcp_roots=reader.read_paths("mcp.", mcp, "roots"),
        models={name: reader.read_path("models.", models, name) for name in models},
    )


class _UserConfigReader:
    def __init__(self, path: Path) -> None:
        self._path = path

    def error(self, key: str, message: str) -> ConfigError:
        return ConfigError(
            f"{self._path}: {key}: {message}", hint=f"fix {quote_argument(str(self._path))}", key=key
        )

    def reject_unknown_keys(self, prefix: str, table: Mapping[str, Any], allowed: set[str]) -> None:
        for key in table:
            if key not in allowed:
                raise self.error(
                    f"{prefix}{key}", f"unknown key, expected one of {', '.join(sorted(allowed))}"
                )

    def read_table(self, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = tables.get(name, {})
        if not isinstance(value, dict):
            raise self.error(name, "must be a table")
        return value

    def read_flag(self, prefix: str, table: Mapping[str, Any], key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise self.error(f"{prefix}{key}", f"must be true or false, found {value!r}")
        return value

    def read_number(self, prefix: str, table: Mapping[str, Any], key: str, default: int) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(f"{prefix}{key}", f"must be a whole number above 0, found {value!r}")
        return value

    def read_path(self, prefix: str, table: Mapping[str, Any], key: str) -> str:
        value = table[key]
        if not isinstance(value, str) or not Path(value).expanduser().is_absolute():
            raise self.error(f"{prefix}{key}", f"must be an absolute path, found {value!r}")
        return str(Path(value).expanduser())

    def read_paths(self, prefix: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"{prefix}{key}", f"must be a list of absolute paths, found {value!r}")
        return tuple(self.read_path(prefix, {key: item}, key) for item in value)

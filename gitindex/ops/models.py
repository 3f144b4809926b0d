"""Which model a repository's settings may mean (CF-4): a pinned one from the hub, or a directory that the user named.

A directory is identified by a hash of everything in it. The hash is kept in `$GITINDEX_HOME/models.json` beside size,
times and inode of every file, so that a command looks at a dozen files instead of reading a hundred megabytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitindex.errors import ConfigError, GitindexError
from gitindex.model.file_stat import Stat
from gitindex.model.settings import EmbedSettings
from gitindex.store import atomic

CACHE = "models.json"
_REVISION = re.compile(r"[0-9a-f]{40}")
_MAX_FILES = 10_000
# A file that changed less than this before it was read may change again under the same times.
_SETTLED_NS = 2_000_000_000


def resolve_model(
    settings: EmbedSettings, models: Mapping[str, str], root: Path, home: Path
) -> EmbedSettings:
    """The settings with the model's directory, where the user has named one, and its identity as revision.

    Raises ConfigError for a model that is neither pinned nor the user's.
    """
    if settings.model in models:
        directory = Path(os.path.realpath(models[settings.model]))
        if directory.is_relative_to(root):
            raise _model_error(
                settings.model, f"{directory} lies in the repository", "copy the model elsewhere"
            )
        return replace(
            settings, directory=str(directory), revision=_digest_directory(settings.model, directory, home)
        )
    if "/" in settings.model and _REVISION.fullmatch(settings.revision):
        return settings
    raise _model_error(
        settings.model,
        "needs a full revision (org/name@ and 40 hex digits), or a directory of yours",
        f'add to {home / "config.toml"}: [models] "{settings.model}" = "/path/of/the/model"',
    )


def _model_error(model: str, message: str, hint: str) -> ConfigError:
    return ConfigError(f"embedding.model {model}: {message}", hint=hint, key="embedding.model")


def _digest_directory(model: str, directory: Path, home: Path) -> str:
    started = time.time_ns()
    files = _list_files(model, directory)
    stamp = _stat_files(files)
    cache_entry = _read_cache(home).get(str(directory), {})
    if cache_entry.get("files") == stamp:
        return str(cache_entry["digest"])
    digest = _hash_files(model, files)
    if _latest_change(stamp) < started - _SETTLED_NS and stamp == _stat_files(files):
        _write_cache_entry(home, str(directory), {"files": stamp, "digest": digest})
    return digest


def _list_files(model: str, directory: Path) -> list[tuple[str, Path]]:
    """Every file below, by relative name. Raises ConfigError for a link that leads out and for no directory at all."""
    if not directory.is_dir():
        raise _model_error(model, f"{directory} is no directory", "correct [models] in config.toml")
    paths = []
    for folder, folders, names in os.walk(directory):
        for name in (*folders, *names):
            path = Path(folder, name)
            if not Path(os.path.realpath(path)).is_relative_to(directory):
                raise _model_error(
                    model, f"{path} leads out of the directory", f"cp -rL {directory} COPY, and name the copy"
                )
        paths += [Path(folder, name) for name in names]
        if len(paths) > _MAX_FILES:
            raise _model_error(
                model, f"{directory} holds more than {_MAX_FILES} files", "name the model's own directory"
            )
    return sorted((path.relative_to(directory).as_posix(), path) for path in paths)


def _stat_files(files: list[tuple[str, Path]]) -> dict[str, list[int]]:
    """Name → times of change, inode and size. The second time cannot be set by anybody."""
    stats = ((name, Stat.of(path.stat())) for name, path in files)
    return {name: [stat.mtime_ns, stat.ctime_ns, stat.inode, stat.size] for name, stat in stats}


def _latest_change(stamp: dict[str, list[int]]) -> int:
    return max((max(entry[:2]) for entry in stamp.values()), default=0)


def _hash_files(model: str, files: list[tuple[str, Path]]) -> str:
    hasher = hashlib.sha256()
    try:
        for name, path in files:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            hasher.update(json.dumps([name, content]).encode() + b"\n")
    except OSError as error:
        raise _model_error(
            model, f"{error.filename}: {error.strerror}", "make the model's files readable"
        ) from error
    return hasher.hexdigest()


def _read_cache(home: Path) -> dict[str, Any]:
    """Nothing where there is no cache, or one that somebody else wrote."""
    path = home / CACHE
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return {}
            cache = json.load(file)
    except (OSError, ValueError):
        return {}
    return cache if isinstance(cache, dict) else {}


def _write_cache_entry(home: Path, directory: str, entry: dict[str, Any]) -> None:
    with suppress(OSError, GitindexError):  # without a cache the directory is hashed again next time
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic.write_json(home / CACHE, {**_read_cache(home), directory: entry})

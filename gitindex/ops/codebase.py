"""Resolves a path to its codebase, with settings and store. Every command starts here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from gitindex import config
from gitindex.config import Environment
from gitindex.errors import ConfigError, GitError, UsageError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.files.stableread import stable_read
from gitindex.git.failure import allows_file_scan
from gitindex.git.repo import Repo, discover, root_commits
from gitindex.git.run import PendingCommands
from gitindex.model.frozen import frozen
from gitindex.model.settings import MAX_FILE_BYTES, IndexSettings, Settings
from gitindex.store import ownership, state_file, stores
from gitindex.store.layout import Layout
from gitindex.store.state_file import StoreState
from gitindex.userconfig import FILE_NAME, UserConfig


@frozen
class Codebase:
    """One canonical root and everything its index depends on."""

    root: Path
    repo: Repo | None
    settings: Settings
    fingerprint: str
    layout: Layout
    environment: Environment
    mode: str = "single"
    submodules_refused: bool = False  # `.gitindex.toml` asks to enter them, the user does not allow it

    @property
    def home(self) -> Path:
        return self.environment.home


def open_codebase(
    path: Path, environment: Environment, *, shared: bool = False, pending: PendingCommands | None = None
) -> Codebase:
    """The codebase that `path` lies in: the git top level, else the directory itself (ST-1). `pending`: see `discover`.

    Raises UsageError for a path that is not there, ConfigError for a broken `.gitindex.toml`, ForeignStore for an
    index that is not this user's.
    """
    if not path.exists():
        raise UsageError(f"no such path: {path}")
    real_path = path.resolve()
    repo = discover(real_path, pending, environment.user)
    if repo is not None and repo.bare:
        raise UsageError(f"{repo.root} is a bare repository", hint="gitindex build --commit REV")
    root = repo.root if repo else (real_path if real_path.is_dir() else real_path.parent)
    settings = config.parse(read_root_file(root, config.FILE_NAME))
    return assemble(root, repo, settings, environment, shared=shared)


def assemble(
    root: Path, repo: Repo | None, settings: Settings, environment: Environment, *, shared: bool = False
) -> Codebase:
    """Raises ConfigError for a model that the repository may not choose (CF-4)."""
    submodules_requested = settings.index.submodules
    submodules_entered = _enters_submodules(root, submodules_requested, environment.user)
    shared = shared or environment.user.shared
    index = _restrict_working_files(
        replace(settings.index, submodules=submodules_entered), environment.user, shared=shared
    )
    settings = replace(settings, index=index)
    if settings.embedding.provider == "sentence-transformers":
        from gitindex.ops.models import resolve_model  # late: few codebases have a model of their own

        user_models = environment.user.models or {}
        settings = replace(
            settings, embedding=resolve_model(settings.embedding, user_models, root, environment.home)
        )
    fingerprint = config.config_fingerprint(settings)
    layout = stores.locate(environment.home, root, fingerprint)
    mode = "shared" if shared else "single"
    ownership.check(layout, mode)
    return Codebase(
        root=root,
        repo=repo,
        settings=settings,
        fingerprint=fingerprint,
        layout=layout,
        environment=environment,
        mode=mode,
        submodules_refused=submodules_requested and not submodules_entered,
    )


def _restrict_working_files(index: IndexSettings, user: UserConfig, *, shared: bool) -> IndexSettings:
    """Repository and user can each leave working files out; only the user can let untracked ones into a shared store:
    scratch files are not the group's (ST-3, CF-1)."""
    untracked_allowed = not shared if user.include_untracked is None else user.include_untracked
    clean_only = index.clean_only or user.clean_only
    return replace(
        index, untracked=index.untracked and untracked_allowed and not clean_only, clean_only=clean_only
    )


def _enters_submodules(root: Path, requested: bool, user: UserConfig) -> bool:
    """Only the user opens repositories inside the repository: each has a configuration of its own (CF-5, EL-4)."""
    return (requested and user.submodules) or any(
        Path(path).resolve() == root for path in user.submodule_roots
    )


@frozen
class Notice:
    """Something that a user should know about an index, or that is wrong with it, and what to run."""

    code: str
    message: str
    next: str | None


def list_notices(codebase: Codebase) -> tuple[Notice, ...]:
    """What the repository's configuration asks for and does not get, with the user's next step."""
    if not codebase.submodules_refused:
        return ()
    return (
        Notice(
            code="submodules_refused",
            message=f"{config.FILE_NAME} asks to enter submodules; only your own configuration can allow that",
            next=f"below [index] in {codebase.home / FILE_NAME}: submodule_roots = {json.dumps([str(codebase.root)])}",
        ),
    )


def collect_fingerprints(codebase: Codebase, ignore: str | None) -> dict[str, str | None]:
    """What an answer was made with (CF-2); `ignore` is that of the snapshot it came from, None without one."""
    return {
        "config": codebase.fingerprint,
        "ignore": ignore,
        "query": config.query_fingerprint(codebase.settings),
    }


def read_root_file(root: Path, name: str) -> bytes | None:
    """A configuration file at the root of the working tree, None when there is none."""
    with Root(root) as root_folder:
        try:
            return stable_read(root_folder, name.encode(), MAX_FILE_BYTES).data
        except Vanished:
            return None
        except ReadError as error:
            raise ConfigError(f"{name} cannot be read: {error.message}", hint=f"fix {name}") from error


def initial_store_state(codebase: Codebase) -> StoreState:
    """What a new store of this codebase starts with."""
    repo = codebase.repo
    return StoreState(
        store_id=codebase.layout.id,
        canonical_root=str(codebase.root),
        config_fingerprint=codebase.fingerprint,
        created_at=state_file.now(),
        mode=codebase.mode,
        repository=_list_root_commits(repo) if repo else (),
        common_dir=str(repo.common_dir) if repo else "",
    )


def _list_root_commits(repo: Repo) -> tuple[str, ...]:
    """None where git cannot tell: then only worktrees of the same clone are known to be of one repository."""
    try:
        return root_commits(repo)
    except GitError as error:
        if not allows_file_scan(error):
            raise
        return ()

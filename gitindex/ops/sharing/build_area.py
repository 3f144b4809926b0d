"""Build areas: stores for builds beside the user's own, keyed by repository and by the settings of the commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gitindex import config
from gitindex.config import Environment
from gitindex.errors import ConfigError, IncompatibleVersion, IntegrityError, NotARepository, UsageError
from gitindex.git.objects import open_objects
from gitindex.git.repo import Head, Repo, discover, resolve
from gitindex.model.manifest import Manifest, Origin
from gitindex.model.settings import MAX_FILE_BYTES, Settings
from gitindex.ops.codebase import Codebase, assemble
from gitindex.ops.sharing.remote_session import published_fingerprint
from gitindex.store import manifests, stores
from gitindex.store.layout import builds_dir
from gitindex.userconfig import UserConfig


def require_repository(path: Path, user: UserConfig | None = None) -> Repo:
    repo = discover(path, user=user) if path.exists() else None
    if repo is None:
        raise NotARepository(f"{path.absolute()} is not in a git repository", hint="git init")
    return repo


class BuildArea(NamedTuple):
    """A commit, and the store for its build."""

    codebase: Codebase
    head: Head

    @property
    def repo(self) -> Repo:
        assert self.codebase.repo is not None, "a build area is opened for a repository"
        return self.codebase.repo

    @property
    def commit(self) -> str:
        assert self.head.commit is not None, "a revision that resolves is a commit"
        return self.head.commit

    @property
    def tree(self) -> str:
        assert self.head.tree is not None, "a revision that resolves is a commit"
        return self.head.tree


def open_build_area(path: Path, environment: Environment, rev: str, home: Path | None = None) -> BuildArea:
    """The build area of a commit, below `home` where given. Raises NotARepository, GitError, ConfigError."""
    repo = require_repository(path, environment.user)
    head = resolve(repo, rev)
    build_environment = replace(environment, home=home or builds_dir(environment.home))
    codebase = assemble(repo.root, repo, read_commit_settings(repo, rev), build_environment)
    fingerprint = published_fingerprint(codebase.settings)
    layout = stores.locate(build_environment.home, codebase.root, fingerprint)
    return BuildArea(replace(codebase, fingerprint=fingerprint, layout=layout), head)


def read_commit_settings(repo: Repo, rev: str) -> Settings:
    """The settings in a commit's own tree."""
    tree = resolve(repo, rev).tree
    assert tree is not None
    with open_objects(repo) as objects:
        entry = objects.find_entry(tree, config.FILE_NAME.encode())
        if entry is None:
            return config.parse(None)
        data = next(iter(objects.read([entry.blob], MAX_FILE_BYTES))).data
    if data is None:
        raise ConfigError(f"{config.FILE_NAME} of {rev} is too large")
    return config.parse(data)


def list_builds(codebase: Codebase) -> list[Manifest]:
    """Readable builds, newest first."""
    readable_builds = []
    for snapshot_id in manifests.list_ids(codebase.layout):
        try:
            readable_builds.append(manifests.read(codebase.layout, snapshot_id))
        except (IntegrityError, IncompatibleVersion):
            continue
    return readable_builds


def find_build(codebase: Codebase, commit: str) -> Manifest:
    """The newest build of a commit that holds nothing from outside its history. Raises UsageError without one."""
    for manifest in list_builds(codebase):
        if manifest.git.head_sha == commit and manifest.origin == Origin():
            return manifest
    raise UsageError(f"{commit[:12]} was not built here", hint=f"gitindex build --commit {commit[:12]}")

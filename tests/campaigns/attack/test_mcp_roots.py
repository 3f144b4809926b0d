"""An agent that is talked into naming other directories gets nothing out of them (EN-8)."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.mcp import roots
from gitindex.mcp.server import Service, _describe_tool
from gitindex.mcp.tool_schemas import TOOLS
from tests.support.gitrepo import GitRepo
from tests.support.harness import index

TOKEN = "gho_0123456789abcdefSECRET"
# Every reading tool with arguments that make it read, the index being there or not.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_codebase", {"query": "oauth_token"}),
    ("search_codebase", {"tags": ["x"]}),
    ("search_codebase", {"query": "gho_", "mode": "regex"}),
    ("find_symbol", {"name": "oauth_token"}),
    ("find_references", {"target": "oauth_token"}),
    ("file_outline", {"file": "gh/hosts.yml"}),
    ("call_graph", {"symbol": "oauth_token"}),
    ("import_graph", {"file": "gh/hosts.yml"}),
    ("repo_map", {}),
    ("slice_variable", {"file": "gh/hosts.yml", "line": 1, "name": "x"}),
    ("read_file", {"file": "gh/hosts.yml"}),
    ("file_state", {"files": ["gh/hosts.yml"]}),
    ("manage_index", {"action": "create", "wait": True}),
    ("manage_index", {"action": "reindex", "wait": True}),
    ("manage_index", {"action": "sync"}),
    ("manage_index", {"action": "status"}),
    ("manage_index", {"action": "clear"}),
)


@pytest.fixture
def started(repo: GitRepo) -> Service:
    """A server in a repository."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    return Service(load_environment(), repo.root)


def secrets(where: Path) -> Path:
    (where / "gh").mkdir(parents=True)
    (where / "gh" / "hosts.yml").write_text(f"github.com:\n  oauth_token: {TOKEN}\n")
    (where / "note.md").write_text(f"---\ntags: [x]\n---\n# Note\n\n{TOKEN}\n")
    return where


def say(service: Service, name: str, /, **arguments: Any) -> dict[str, Any]:
    return json.loads(service.call(name, arguments).text)


def stores() -> list[Path]:
    return list((load_environment().home / "data").glob("*"))


def refuses_all(service: Service, path: Path) -> None:
    for name, arguments in CALLS:
        for sync in (False, True):
            chosen = {"sync": True} if sync and name != "manage_index" else {}
            answer = service.call(name, {**arguments, "path": str(path), **chosen})
            told = json.loads(answer.text)
            assert TOKEN not in answer.text, name
            assert told["status"] == "error", (name, told)
            assert told["error"]["code"] == "not_allowed", (name, told)
            assert "create" not in answer.text, "no invitation to index it"
    assert stores() == []


def test_a_directory_outside_is_neither_indexed_nor_searched(started: Service, tmp_path: Path) -> None:
    """EN-8: the attack that worked was `search_codebase(path=…, sync=true)`; it returned the token."""
    refuses_all(started, secrets(tmp_path / "config"))


def test_git_is_not_asked_about_a_directory_outside(
    started: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EN-8: a repository may configure what git does, so the refusal comes before git looks at it."""
    outside = GitRepo.create(tmp_path / "outside")
    asked = tmp_path / "asked"
    real, folder = shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\necho "$PWD $*" >> {asked}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert say(started, "manage_index", action="status")["status"] == "not_indexed"
    assert str(tmp_path / "repo") in asked.read_text(), "this git is the one that is asked"
    for name, arguments in CALLS:
        started.call(name, {**arguments, "path": str(outside.root)})
    assert str(outside.root) not in asked.read_text()


def test_the_refusal_says_what_is_allowed_and_what_to_change(started: Service, tmp_path: Path) -> None:
    """EN-8: the answer names the allowed directory and the setting."""
    told = say(started, "search_codebase", query="x", path=str(secrets(tmp_path / "config")))["error"]
    assert str(tmp_path / "repo") in told["message"]
    assert str(load_environment().home / "config.toml") in told["hint"]
    assert "[mcp]" in told["hint"]


def link_to(target: Path, repo: GitRepo) -> Path:
    (repo.root / "inside").symlink_to(target)
    return repo.root / "inside"


def dotted(target: Path, repo: GitRepo) -> Path:
    return repo.root / ".." / target.name


def link_to_file(target: Path, repo: GitRepo) -> Path:
    (repo.root / "hosts").symlink_to(target / "gh" / "hosts.yml")
    return repo.root / "hosts"


@pytest.mark.parametrize("way", [link_to, dotted, link_to_file])
def test_no_spelling_leads_outside(
    started: Service, repo: GitRepo, tmp_path: Path, way: Callable[[Path, GitRepo], Path]
) -> None:
    """EN-8: what counts is the real path, also of a path that starts inside."""
    refuses_all(started, way(secrets(tmp_path / "config"), repo))


def test_an_allowed_name_does_not_allow_its_neighbour(started: Service, tmp_path: Path) -> None:
    """EN-8: `/x/repo` is allowed, `/x/repository` is not inside it."""
    refuses_all(started, secrets(tmp_path / "repository"))


@pytest.mark.parametrize("where", ["start", "setting", "indexed"])
def test_a_home_directory_is_never_a_codebase(home: Path, repo: GitRepo, where: str) -> None:
    """EN-8: not where the server starts in it, not where the user allows it, not where it has an index."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    secrets(home / ".config")
    if where == "setting":
        (home / ".gitindex").mkdir()
        (home / ".gitindex" / "config.toml").write_text(f"[mcp]\nroots = ['{home}', '/']\n")
    if where == "indexed":
        index(home)
    service = Service(load_environment(), home if where == "start" else repo.root)
    for place in (home, home.parent, home / ".config", Path("/")):
        for name, arguments in CALLS:
            answer = service.call(name, {**arguments, "path": str(place)})
            assert TOKEN not in answer.text
            assert json.loads(answer.text)["error"]["code"] == "not_allowed", (place, name)
    if where == "start":
        answer = service.call("search_codebase", {"query": "token"})
        assert json.loads(answer.text)["error"]["code"] == "not_allowed"
        assert "create" not in answer.text, "an agent started at home is not invited to index it"


def test_a_repository_around_the_home_is_no_codebase(home: Path) -> None:
    """EN-8: dotfiles kept in git make the home directory the root of whatever lies in it."""
    GitRepo.create(home)
    project = secrets(home / "notes")
    for start in (home, project):
        answer = Service(load_environment(), start).call(
            "manage_index", {"action": "create", "path": str(project)}
        )
        assert json.loads(answer.text)["error"]["code"] == "not_allowed"
    assert stores() == []


def test_other_people_have_homes_too(tmp_path: Path, repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """EN-8: the home of any account, listed or known by its owner, and what holds a person's home."""
    theirs = secrets(tmp_path / "people" / "ann")
    service_account = secrets(tmp_path / "service")
    accounts = (
        pwd.struct_passwd(("ann", "x", 1234, 1234, "", str(theirs), "")),
        pwd.struct_passwd(("daemon", "x", 7, 7, "", str(service_account), "")),
    )
    monkeypatch.setattr(pwd, "getpwall", lambda: list(accounts))
    roots._list_accounts.cache_clear()
    try:
        assert roots.is_private(theirs)
        assert roots.is_private(theirs.parent)
        assert roots.is_private(service_account)
        assert not roots.is_private(theirs / "project")
        refuses_all(Service(load_environment(), theirs), theirs)
    finally:
        roots._list_accounts.cache_clear()
    unlisted = secrets(tmp_path / "network" / "bob")
    owner = pwd.struct_passwd(("bob", "x", os.getuid(), 1, "", str(unlisted), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: owner)
    assert roots.is_private(unlisted)


def test_only_create_indexes_what_has_no_index(started: Service, repo: GitRepo) -> None:
    """EN-8: `sync` on a reading tool, and every other action, leave a new codebase as it is, inside as well."""
    for name, arguments in CALLS:
        if arguments.get("action") in ("create", "status", "clear"):
            continue
        chosen = {} if name == "manage_index" else {"sync": True}
        answer = say(started, name, **{**arguments, **chosen})
        assert answer["status"] == "not_indexed", (name, answer)
    assert stores() == []
    assert say(started, "manage_index", action="create", wait=True)["status"] == "ok"
    repo.write("a.py", "BRAND_NEW = 2\n")
    assert say(started, "find_symbol", name="BRAND_NEW", sync=True)["status"] == "ok"
    assert say(started, "manage_index", action="reindex", wait=True)["status"] == "ok"


def test_what_is_allowed_still_answers(started: Service, repo: GitRepo, tmp_path: Path, home: Path) -> None:
    """EN-8: an indexed codebase, a directory that the user named, and what lies in it; no neighbour of theirs."""
    known = GitRepo.create(tmp_path / "known")
    known.commit("first", **{"k.py": "KNOWN = 1\n"})
    index(known.root)
    assert say(started, "find_symbol", name="KNOWN", path=str(known.root / "k.py"))["status"] == "ok"
    work = tmp_path / "work"
    inner = GitRepo.create(work / "inner")
    inner.commit("first", **{"i.py": "INNER = 1\n"})
    refused = say(started, "manage_index", action="create", path=str(inner.root))
    assert refused["error"]["code"] == "not_allowed"
    (home / ".gitindex" / "config.toml").write_text(f"[mcp]\nroots = ['{work}']\n")
    allowed = Service(load_environment(), repo.root)
    assert say(allowed, "manage_index", action="create", path=str(inner.root), wait=True)["status"] == "ok"
    assert say(allowed, "find_symbol", name="INNER", path=str(inner.root))["status"] == "ok"


def test_an_index_allows_its_own_root_only(started: Service, tmp_path: Path) -> None:
    """EN-8: what an indexed directory leaves out is not to be indexed as a codebase of its own."""
    plain = secrets(tmp_path / "plain")
    (plain / ".gitindexignore").write_text("gh/\n")
    index(plain)
    before = stores()
    for name, arguments in CALLS:
        if arguments.get("action") == "clear":
            continue
        answer = started.call(name, {**arguments, "path": str(plain / "gh")})
        assert json.loads(answer.text)["error"]["code"] == "not_allowed", name
    assert stores() == before


def test_annotations_are_true() -> None:
    """EN-8: a tool that can write says so; a client may run those that say they only read without asking anybody."""
    for spec in TOOLS:
        hints = _describe_tool(spec).annotations
        assert hints is not None
        writes = "sync" in spec.properties or spec.name == "manage_index"
        assert hints.read_only_hint is not writes, spec.name
        assert hints.destructive_hint is (spec.name == "manage_index"), spec.name

"""SE-2: installed packages of a TypeScript project reach the private checkout by links, the working tree never."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitindex.errors import UsageError
from gitindex.semantic import nodemodules
from gitindex.semantic.indexers.adapter import IndexerRun
from gitindex.semantic.indexers.registry import indexer_for


def package(folder: Path, name: str, version: str = "1.0.0") -> Path:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return folder


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """As npm leaves it: packages, scopes, hidden folders, a link into its own store and one to a workspace."""
    made = tmp_path / "app" / "node_modules"
    package(made / "plain", "plain")
    package(made / "@types" / "node", "@types/node", "20.0.0")
    package(made / ".pnpm" / "deep", "deep", "3.0.0")
    (made / "deep").symlink_to(".pnpm/deep")
    package(tmp_path / "app" / "packages" / "own", "own")
    (made / "own").symlink_to("../packages/own")
    (made / "gone").symlink_to("nowhere")
    (made / ".bin").mkdir()
    return made


def test_packages_are_named_and_own_ones_left_out(modules: Path):
    assert list(nodemodules.list_packages(modules)) == ["@types/node", "deep", "plain"]


def test_other_versions_are_other_inputs(modules: Path):
    before = nodemodules.hash_packages(modules)
    assert before == nodemodules.hash_packages(modules)
    (modules / "plain" / "package.json").write_text('{"version": "1.0.1"}')
    assert nodemodules.hash_packages(modules) != before
    (modules / "plain" / "package.json").write_text("[not an object")
    assert nodemodules.hash_packages(modules) not in ("", before)
    assert nodemodules.hash_packages(None) == ""


def test_a_directory_without_packages_is_refused(modules: Path):
    assert nodemodules.locate(modules) == nodemodules.locate(modules.parent) == modules
    with pytest.raises(UsageError) as caught:
        nodemodules.locate(modules.parent.parent)
    assert "npm install" in str(caught.value.hint)


def test_the_checkout_gets_links_and_its_own_packages_win(modules: Path, tmp_path: Path):
    checkout, work = tmp_path / "checkout", tmp_path / "work"
    work.mkdir()
    package(checkout / "packages" / "own", "own", "2.0.0")
    package(checkout / "packages" / "plain", "plain", "2.0.0")
    before = sorted(modules.rglob("*"))
    indexer_for("typescript").prepare(IndexerRun(checkout, "", (), work, node_modules=modules))
    linked = {
        os.path.relpath(path, checkout / "node_modules"): os.path.realpath(path)
        for path in (checkout / "node_modules").rglob("*")
        if path.is_symlink()
    }
    assert linked == {
        "own": str(checkout / "packages" / "own"),
        "plain": str(checkout / "packages" / "plain"),
        "deep": str(modules / ".pnpm" / "deep"),
        "@types/node": str(modules / "@types" / "node"),
    }
    assert sorted(modules.rglob("*")) == before, "nothing is written there"

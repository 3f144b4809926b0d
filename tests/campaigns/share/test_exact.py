"""RE-1, SE-2: CI runs the exact indexers; a teammate without them gets their facts, and nothing of CI's machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.ops.codebase import open_codebase
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.semantic import tools_directory
from gitindex.semantic.indexer_run import IndexerSettings
from gitindex.semantic.process import Caps
from gitindex.view.snapshot import open_active
from tests.campaigns.share.team import Team, unpacked


def exact(repo, environment) -> list[tuple[object, ...]]:
    """The exact layers of an index, and whether it can read them."""
    with open_active(open_codebase(repo.root, environment).layout) as view:
        assert view is not None
        assert bool(view.scip) == bool(view.manifest.semantic)
        return [(one["language"], one["root"], one["files"], one["commit"]) for one in view.manifest.semantic]


def test_an_indexer_that_is_not_installed_is_told_and_does_not_fail_the_build(team: Team):
    made = build(team.origin.root, team.ci, BuildOptions(workers=1))
    assert [(one["language"], one["outcome"]) for one in made.indexers] == [("python", "unavailable")]
    assert made.semantic == ()


@pytest.mark.slow
def test_exact_facts_travel(team: Team):
    variables = dict(os.environ)
    tools_directory.install(
        ["scip-python"], IndexerSettings(team.ci.home / "tools", variables, Caps(), False)
    )
    ci = replace(team.ci, variables=variables)
    team.commit("project", **{"pyproject.toml": '[project]\nname = "x"\nversion = "1"\n'})
    made = build(team.origin.root, ci, BuildOptions(workers=1))
    assert [(one["language"], one["outcome"]) for one in made.indexers] == [("python", "refreshed")]
    team.push(environment=ci)
    assert made.semantic[0]["elapsed_ms"] > 0
    whole = b"".join(unpacked(data) for data in team.objects().values())
    for private in (team.where, Path.home()):
        assert str(private).encode() not in whole
    repo = team.clone()
    team.trust(repo)
    assert team.fetch(repo).built_ms >= made.semantic[0]["elapsed_ms"], "what it saved counts the indexers"
    head = repo.git("rev-parse", "HEAD")
    assert exact(repo, team.mate) == [("python", "", 3, head)]
    repo.write("b.py", "def beta(x):\n    return x * 9\n")
    team.fetch(repo)
    assert exact(repo, team.mate) == [("python", "", 3, head)]
    again = build(team.origin.root, replace(ci, home=team.where / "ci2"), BuildOptions(workers=1))
    assert (again.base, again.noop) == ("published", True)

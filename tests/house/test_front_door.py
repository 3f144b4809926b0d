"""What a newcomer meets first is true: contributing guide, changelog, release workflow, typing, checks before a commit."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
import yaml

import gitindex
from tests.house.graph import REPOSITORY, tracked

GITHUB = REPOSITORY / ".github"
GUIDE = GITHUB / "CONTRIBUTING.md"
PINNED = re.compile(r"^\s*(?:- )?uses: ([\w./-]+)@([0-9a-f]{40}) # (v[\d.]+)$")


def text(path: str) -> str:
    return (REPOSITORY / path).read_text("utf-8")


def recipes() -> list[list[str]]:
    table = GUIDE.read_text("utf-8").partition("| change |")[2]
    rows = [line for line in table.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_file_that_the_guide_names_exists():
    assert len(recipes()) == 12
    for change, where, proof in recipes():
        names = re.findall(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md)|(?:[\w-]+/)+)`", f"{where} {proof}")
        assert names, change
        for name in names:
            base = REPOSITORY if name.startswith(("tests/", "docs/", "ci/")) else REPOSITORY / "gitindex"
            assert (base / name).exists(), f"{change}: {name}"
    for name in re.findall(
        r"(?<![\w/])((?:tests|ci|docs)/[\w/.-]+\w)", GUIDE.read_text("utf-8").replace("NNNN-title.md", "")
    ):
        assert (REPOSITORY / name).exists(), name


def test_every_constant_that_the_guide_names_exists():
    for change, where, _ in recipes():
        for path, names in re.findall(r"`([\w/]+\.py)` \(([\w, ]+)\)", where):
            source = text(path if path.startswith("tests/") else f"gitindex/{path}")
            words = [word for word in re.findall(r"\w+", names) if word.isupper() or word.startswith("_")]
            assert [word for word in words if not re.search(rf"\b{word}\b", source)] == [], change


def test_the_tests_that_the_guide_runs_exist():
    for file, name in re.findall(r"pytest (tests/[\w/]+\.py) -k (\w+)", GUIDE.read_text("utf-8")):
        assert name in text(file)


def test_the_guide_names_every_layer():
    layers = re.search(r"\nlayers = \[(.*?)\n\]", text("pyproject.toml"), re.S)
    assert layers is not None
    packages = {
        name
        for name in re.findall(r"\w+", layers[1])
        if (REPOSITORY / "gitindex" / name / "__init__.py").exists()
    }
    listed = GUIDE.read_text("utf-8").partition("## Layers")[2].partition("## What goes where")[0]
    assert packages - set(re.findall(r"`(\w+)`", listed)) == set()


def test_the_changelog_has_this_version_and_what_comes_next():
    page = text("docs/changelog.md")
    sections = re.findall(r"^## (.+)$", page, re.M)
    assert sections[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(gitindex.__version__)} \(\d{{4}}-\d\d-\d\d\)", sections[1])
    assert "changes/" in page.partition("## Unreleased")[2].partition("\n## ")[0]


def release_check() -> Any:
    loader = SourceFileLoader("release_check", str(REPOSITORY / "ci" / "release-check"))
    spec = spec_from_loader("release_check", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_release_needs_tag_version_and_changelog_to_agree():
    check = release_check().find_fault
    package, changelog = '__version__ = "1.2.3"\n', "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-02)\n"
    assert check("v1.2.3", package, changelog) == ""
    assert "tag" in check("v1.2.4", package, changelog)
    assert "changelog" in check("v1.2.3", package, changelog.replace("1.2.3", "1.2.2"))
    assert "changelog" in check("v1.2.3", package, changelog.replace(" (2026-01-02)", ""))
    assert check(f"v{gitindex.__version__}", text("gitindex/__init__.py"), text("docs/changelog.md")) == ""


def test_types_are_shipped():
    """PEP 561: without the marker a type checker ignores every annotation of the package."""
    assert (
        REPOSITORY / "gitindex" / "py.typed" in tracked() or (REPOSITORY / "gitindex" / "py.typed").is_file()
    )
    assert 'packages = ["gitindex"]' in text("pyproject.toml")


@pytest.fixture(scope="module")
def release() -> Any:
    return yaml.safe_load(text(".github/workflows/release.yml"))


def test_a_release_publishes_with_the_least_permissions(release: Any):
    """RE-9's rules for our own workflow: whoever can publish runs no code of the project."""
    assert release["permissions"] == {}
    may = {name: job.get("permissions", {}) for name, job in release["jobs"].items()}
    assert {name for name, granted in may.items() if "id-token" in granted} == {"publish"}
    assert {name for name, granted in may.items() if granted.get("contents") == "write"} == {"announce"}
    for name in ("publish", "announce"):
        steps = release["jobs"][name]["steps"]
        assert not any("actions/checkout" in step.get("uses", "") for step in steps)
    assert release["jobs"]["publish"]["environment"] == "pypi"
    assert all(step.get("with", {}).get("persist-credentials") is False for step in _checkouts(release))


def _checkouts(workflow: Any) -> list[Any]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]


def test_actions_are_pinned_and_agree():
    """One commit and one version of each action, in all workflows."""
    pins: dict[str, set[str]] = {}
    for path in sorted((GITHUB / "workflows").glob("*.yml")):
        for line in path.read_text("utf-8").splitlines():
            if re.match(r"\s*(- )?uses: [^.$]", line):  # neither `./` nor `$/`: those are of this revision
                pinned = PINNED.match(line)
                assert pinned, f"{path.name}: {line.strip()}"
                pins.setdefault(pinned[1], set()).add(f"{pinned[2]} {pinned[3]}")
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


def test_checks_before_a_commit_come_from_the_environment(tmp_path: Path):
    """Nothing is downloaded: every hook is local, and runs the tool that ci/test runs."""
    config = yaml.safe_load(text(".pre-commit-config.yaml"))
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    entries = {hook["entry"] for hook in config["repos"][0]["hooks"]}
    assert all(entry.startswith("ci/in-venv ") for entry in entries)
    tools = {entry.split()[1] for entry in entries}
    assert tools == {"ruff", "mypy", "lint-imports"}
    assert all(re.search(rf"^{tool}\b", text("ci/test"), re.M) for tool in tools)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("#!/bin/sh\necho ran in $PWD: $@\n")
    (tmp_path / "bin" / "tool").chmod(0o755)
    ran = subprocess.run(
        [str(REPOSITORY / "ci" / "in-venv"), "tool", "x"],
        env={**os.environ, "GITINDEX_TEST_VENV": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == f"ran in {REPOSITORY}: x\n"


def test_every_file_that_the_security_page_names_exists():
    """A mechanism without its file, or an attack without its test, would be a promise only."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (GITHUB / "SECURITY.md").read_text("utf-8"), re.M)
    rows = [row for row in rows if "`" in row[1]][1:]  # without the heading
    assert len(rows) > 10
    for mechanism, where, attacked in rows:
        for cell, base in (
            (where, REPOSITORY / "gitindex"),
            (attacked, REPOSITORY / "tests" / "campaigns" / "attack"),
        ):
            for name in re.findall(r"`([^`]+)`", cell):
                home = REPOSITORY if name.startswith("ci/") else base
                assert list(home.glob(name.rstrip("/"))), f"{mechanism}: {name}"


@pytest.mark.parametrize(
    "name", ["CONTRIBUTING.md", "SECURITY.md", "PULL_REQUEST_TEMPLATE.md", "ISSUE_TEMPLATE/bug.yml"]
)
def test_the_front_door_is_there(name: str):
    assert (GITHUB / name).stat().st_size > 300

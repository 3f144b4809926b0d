"""The real worker loop with an indexer that only writes down which HEAD it saw; hooks run it as Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from gitindex.errors import GitError
from gitindex.git import repo as repository
from gitindex.hooks import background
from gitindex.hooks.worker import Worker, WorkerTimings, serve_requests


def main(arguments: list[str]) -> None:
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    git_dir, home = Path(options["--git-dir"]).resolve(), Path(os.environ["GITINDEX_HOME"])
    background.detach_process()
    with background.log_to_folder(git_dir):
        found = repository.discover(Path(options["--path"]))
        assert found is not None
        assert found.git_dir == git_dir

        def index(commit_only: bool) -> str:
            return _record(home, found.root, commit_only)

        pace = WorkerTimings(quiet=0.05, burst=0.5, poll=0.01, poll_slow=0.05, git_busy=20, index_lock=0.2)
        serve_requests(Worker(git_dir, index, lambda: repository.find_unfinished(found), pace))


def _record(home: Path, root: Path, commit_only: bool) -> str:
    _append(home, {"step": "begin"})
    head = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, check=True
    ).stdout
    while (home / "hold").exists():
        time.sleep(0.01)
    if (home / "fail").exists():
        raise GitError("told to fail", hint="gitindex sync")
    leaked = sorted(name for name in os.environ if name.startswith("GIT_"))
    _append(
        home,
        {
            "step": "end",
            "root": str(root),
            "head": head.decode().strip(),
            "commit_only": commit_only,
            "leaked": [
                name
                for name in leaked
                if not name.startswith(("GIT_COMMITTER", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"))
            ],
            "session": os.getsid(0) == os.getpid(),
            "nice": os.nice(0),
            "share": _read("/proc/self/autogroup"),
            "cwd": os.getcwd(),
            "open": [name for name in os.listdir("/dev/fd") if int(name) > 2 and _inheritable(int(name))],
        },
    )
    return head.decode().strip()


def _read(path: str) -> str | None:
    return Path(path).read_text() if os.path.exists(path) else None


def _append(home: Path, what: dict[str, object]) -> None:
    home.mkdir(exist_ok=True)
    line = json.dumps({"pid": os.getpid(), **what}) + "\n"
    descriptor = os.open(home / "runs.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def _inheritable(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("worker") + 1 :])

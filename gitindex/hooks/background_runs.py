"""What `status` says about the hooks of a worktree: whether a request waits, and how the last worker run ended."""

from __future__ import annotations

from pathlib import Path

from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import owner, worker
from gitindex.hooks.journal import WorkerRun
from gitindex.model.frozen import frozen


@frozen
class BackgroundStatus:
    """What hooks asked for, and how the last background run ended."""

    pending: bool
    last_run: WorkerRun | None
    problem: str | None
    obstacle: str | None


def read_background(git_dir: Path) -> BackgroundStatus:
    """`obstacle` is set only where the folder of hook requests exists: without hooks it is not needed."""
    return BackgroundStatus(
        pending=hookrequest.has_request(git_dir),
        last_run=worker.last_run(git_dir),
        problem=worker.failed_run_message(git_dir),
        obstacle=owner.find_obstacle(git_dir) if folder.common_folder_path(git_dir).exists() else None,
    )

"""What `status` says about the hooks of a worktree: whether a request waits, and how the last worker run ended."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import owner, worker


def read_background(git_dir: Path) -> dict[str, Any]:
    """`obstacle` is set only where the folder of hook requests exists: without hooks it is not needed."""
    last_run = worker.last_run(git_dir)
    return {
        "pending": hookrequest.has_request(git_dir),
        "last_run": asdict(last_run) if last_run else None,
        "problem": worker.failed_run_message(git_dir),
        "obstacle": owner.find_obstacle(git_dir) if folder.common_folder_path(git_dir).exists() else None,
    }

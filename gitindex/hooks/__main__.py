"""`python -m gitindex.hooks run|worker`: what hooks start, without the cost of the whole command line.

A process boundary like the CLI: reads the environment once and hands it down. `run` never fails git (HK-2).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    match arguments:
        case ["run", *rest]:
            _run(rest)
        case ["worker", "--path", path, "--git-dir", git_dir]:
            _work(Path(path), Path(git_dir))
        case _:
            sys.stderr.write(
                "usage: python -m gitindex.hooks run [EVENT] | worker --path DIR --git-dir DIR\n"
            )
            return 2
    return 0


def _run(arguments: list[str]) -> None:
    from gitindex.hooks import events, spawn

    named = arguments[0] if arguments and arguments[0] in events.EVENTS else None
    spawn.start(named or events.under_pre_commit(os.environ), Path.cwd(), os.environ)


def _work(path: Path, git_dir: Path) -> None:
    from gitindex.hooks import worker

    worker.main(path, git_dir)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m gitindex.hooks worker`: what the shim starts. Loads less than the whole command line."""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    match arguments:
        case ["worker", "--path", path, "--git-dir", git_dir]:
            from gitindex.hooks import worker

            worker.main(Path(path), Path(git_dir))
            return 0
    sys.stderr.write("usage: python -m gitindex.hooks worker --path DIR --git-dir DIR\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

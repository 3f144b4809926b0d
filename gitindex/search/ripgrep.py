"""ripgrep, where it is installed: which of these files may match. It narrows; the scan decides."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.errors import ExactFactsError
from gitindex.semantic import process
from gitindex.semantic.process import Caps

_ARGUMENTS = (
    "--files-with-matches",
    "--null",
    "--no-messages",
    "--no-config",
    "--text",
    "--crlf",
    "--ignore-case",
)
_COMMAND_BYTES = 100_000  # of paths per run, well below what a command line may hold
_CAPS = Caps(seconds=60)
_FOUND, _NOTHING = 0, 1


def find_program() -> str | None:
    return shutil.which("rg")


def find_matching_files(
    rg: str, root: Path, patterns: Sequence[str], paths: Sequence[str], *, literal: bool
) -> set[str] | None:
    """Paths below root with a match; None when ripgrep could not say."""
    expressions = [argument for pattern in patterns for argument in ("-e", pattern)]
    command = [rg, *_ARGUMENTS, *(["--fixed-strings"] if literal else []), *expressions, "--"]
    found: set[str] = set()
    with TemporaryDirectory(prefix="gitindex-rg-") as folder:
        log = Path(folder) / "out"
        for batch in _batch_paths(paths):
            try:
                done = process.run([*command, *batch], cwd=root, environment={}, log=log, caps=_CAPS)
            except ExactFactsError:
                return None
            if done.stop_reason or done.exit_code not in (_FOUND, _NOTHING):
                return None
            found |= {
                name.removeprefix("./") for name in log.read_bytes().decode("utf-8", "replace").split("\0")
            }
    return found & set(paths)


def _batch_paths(paths: Sequence[str]) -> Iterator[list[str]]:
    """`./` in front: no path is taken for an option."""
    batch: list[str] = []
    used = 0
    for path in paths:
        used += len(path.encode()) + 3
        if batch and used > _COMMAND_BYTES:
            yield batch
            batch, used = [], len(path.encode()) + 3
        batch.append(f"./{path}")
    if batch:
        yield batch

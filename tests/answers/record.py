"""Writes the golden answers again: `python -m tests.answers.record`. Read the difference before committing it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gitindex.config import limit_numpy_threads
from tests.answers.golden_answers import measure, write_golden


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GITINDEX_HOME"] = f"{folder}/home"
        write_golden(measure(Path(folder).resolve()))


if __name__ == "__main__":
    limit_numpy_threads()
    main()

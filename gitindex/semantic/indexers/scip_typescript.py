"""scip-typescript 0.4: the TypeScript compiler with a SCIP writer. Runs no project code."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from gitindex.semantic.indexers.base import Program, Run
from gitindex.semantic.indexers.npm_tool import NpmIndexer

_SKIPPED = re.compile(
    r"^.*(?:skipping|skipped|error indexing|unexpected error).*$", re.IGNORECASE | re.MULTILINE
)


class ScipTypescript(NpmIndexer):
    name = "scip-typescript"
    language = "typescript"
    package = "@sourcegraph/scip-typescript"
    entry = "dist/src/main.js"
    how_to_get = "gitindex indexers install typescript"

    def prepare(self, run: Run) -> None:
        """A project without a tsconfig gets one here; the tool's own inference would write into the tree
        too.
        """
        config = run.directory / "tsconfig.json"
        if config.exists() or (run.directory / "jsconfig.json").exists():
            return
        left_out = [posixpath.relpath(path, run.root or ".") for path in run.nested]
        options = {"allowJs": True, "skipLibCheck": True, "esModuleInterop": True, "jsx": "preserve"}
        excluded = ["**/node_modules", *sorted(left_out)]
        config.write_text(json.dumps({"compilerOptions": options, "include": ["**/*"], "exclude": excluded}))

    def command(self, program: Program, run: Run) -> list[str]:
        config = run.directory / "tsconfig.json"
        fallback = run.directory / "jsconfig.json"
        project = fallback if fallback.exists() and not config.exists() else run.directory
        return [
            *self.node_words(program, run),
            "index",
            "--cwd",
            str(run.checkout),
            "--no-progress-bar",
            "--max-file-byte-size",
            "10mb",
            "--output",
            str(run.output),
            str(project),  # absolute: relative projects ignore --cwd
        ]

    def working_directory(self, run: Run) -> Path:
        return run.checkout

    def environment(self, base: Mapping[str, str], run: Run) -> dict[str, str]:
        return {
            **super().environment(base, run),
            "NODE_OPTIONS": f"--max-old-space-size={run.heap_megabytes}",
        }

    def remarks(self, log: str) -> list[str]:
        return sorted(set(_SKIPPED.findall(log)))[:50]

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

_BASE = re.compile(r'"extends"\s*:\s*("[^"]*"|\[[^\]]*\])\s*,?')


class ScipTypescript(NpmIndexer):
    name = "scip-typescript"
    language = "typescript"
    package = "@sourcegraph/scip-typescript"
    entry = "dist/src/main.js"
    how_to_get = "gitindex indexers install typescript"

    def prepare(self, run: Run) -> list[str]:
        """A project without a tsconfig gets one here; the tool's own inference would write into the tree too.

        A base configuration from a package that is not installed stops the compiler: it is left out.
        """
        found = [run.directory / name for name in ("tsconfig.json", "jsconfig.json")]
        present = next((config for config in found if config.exists()), None)
        if present is not None:
            return _without_missing_base(present, run)
        left_out = [posixpath.relpath(path, run.root or ".") for path in run.nested]
        options = {"allowJs": True, "skipLibCheck": True, "esModuleInterop": True, "jsx": "preserve"}
        excluded = ["**/node_modules", *sorted(left_out)]
        settings = {"compilerOptions": options, "include": ["**/*"], "exclude": excluded}
        found[0].write_text(json.dumps(settings))
        return []

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


def _without_missing_base(config: Path, run: Run) -> list[str]:
    text = config.read_text("utf-8", "replace")
    base = _BASE.search(text)
    if base is None:
        return []
    places = [run.directory, *run.directory.parents]
    here = [place / "node_modules" for place in places if place.is_relative_to(run.checkout)]
    missing = [
        name
        for name in re.findall(r'"([^".][^"]*)"', base[1])
        if not name.startswith("/") and not any((modules / _package(name)).exists() for modules in here)
    ]
    if not missing:
        return []
    config.write_text(text[: base.start()] + text[base.end() :])
    return [f"{run.root or '.'}: settings of {', '.join(missing)} are not installed and were left out"]


def _package(name: str) -> str:
    return "/".join(name.split("/")[: 2 if name.startswith("@") else 1])

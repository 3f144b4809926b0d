"""scip-python 0.6: pyright with a SCIP writer. Runs no project code."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from gitindex.semantic.indexers.adapter import IndexerRun, Program, path_key_below
from gitindex.semantic.indexers.npm_tool import NpmIndexer

_CRASHED_AT = re.compile(r"currentFilepath:\s*'([^'\n]+)'")
_CRASHED_CHECKING = re.compile(r'internal error occurred while type checking file "([^"\n]+)"')
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_OVERRIDDEN_KEYS = ("include", "exclude", "ignore", "venv", "venvPath")


class ScipPython(NpmIndexer):
    name = "scip-python"
    language = "python"
    package = "@sourcegraph/scip-python"
    entry = "index.js"
    how_to_get = "gitindex indexers install python"
    min_coverage = 0.1

    def prepare(self, run: IndexerRun) -> list[str]:
        """Write our own pyright configuration: every owned file, no nested project, no file that crashes pyright."""
        config = {
            key: value for key, value in _read_project_config(run).items() if key not in _OVERRIDDEN_KEYS
        }
        left_out = [posixpath.relpath(path, run.root or ".") for path in (*run.nested, *run.excluded)]
        config |= {"include": ["."], "exclude": ["**/node_modules", "**/__pycache__", *sorted(left_out)]}
        if run.python_env is not None:
            config |= {"venvPath": str(run.python_env.parent), "venv": run.python_env.name}
        (run.directory / "pyrightconfig.json").write_text(json.dumps(config))
        if run.environment_file is None:
            # Without --environment scip-python runs pip. With an empty list it only misses the names of other packages.
            (run.work / "environment.json").write_text("[]")
        return []

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        return [
            *self.node_command(program, run),
            "index",
            "--cwd",
            str(run.directory),
            "--project-name",
            run.project,
            "--project-version",
            "_",  # the default is the commit: every symbol would change with every commit
            "--environment",
            str(run.environment_file or run.work / "environment.json"),
            "--output",
            str(run.output),
            "--quiet",
        ]

    def environment(self, base: Mapping[str, str], run: IndexerRun) -> dict[str, str]:
        return {
            **super().environment(base, run),
            "NODE_OPTIONS": f"--max-old-space-size={run.heap_megabytes}",
        }

    def find_crashing_file(self, log: str, run: IndexerRun) -> str | None:
        for pattern in (_CRASHED_AT, _CRASHED_CHECKING):
            for path in reversed(pattern.findall(log)):
                key = path_key_below(run, path)
                if key in run.files and key not in run.excluded:
                    return key
        return None

    def find_remarks(self, log: str) -> list[str]:
        return [f"type checking failed inside {path}" for path in sorted(set(_CRASHED_CHECKING.findall(log)))]


def _read_project_config(run: IndexerRun) -> dict[str, Any]:
    """The project's own settings of pyright (search paths, Python version), {} when they cannot be read."""
    pyright_file = run.directory / "pyrightconfig.json"
    pyproject_file = run.directory / "pyproject.toml"
    try:
        if pyright_file.exists():
            text = _STRING_OR_COMMENT.sub(
                lambda match: match[1] or "", pyright_file.read_text("utf-8", "replace")
            )
            config = json.loads(text)
        else:
            config = (
                tomllib.loads(pyproject_file.read_text("utf-8", "replace")) if pyproject_file.exists() else {}
            )
            config = config.get("tool", {}).get("pyright", {})
    except (ValueError, AttributeError):
        return {}
    return config if isinstance(config, dict) else {}

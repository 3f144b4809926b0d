"""scip-typescript 0.4: the TypeScript compiler with a SCIP writer. Runs no project code."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from gitindex.semantic import nodemodules
from gitindex.semantic.indexers.adapter import Program, Run
from gitindex.semantic.indexers.npm_tool import NpmIndexer
from gitindex.semantic.package_names import package_name

_SKIPPED = re.compile(
    r"^.*(?:skipping|skipped|error indexing|unexpected error).*$", re.IGNORECASE | re.MULTILINE
)

_PACKAGE = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*")  # neither dots first nor further slashes
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
        Packages of the repository find each other by links, as after an install; installed ones come after
        them, so that nothing of the user's working tree is taken for a package.
        """
        _link_workspace(run.checkout)
        _link_packages(run)
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


def _link_workspace(checkout: Path) -> None:
    """Packages of a monorepo import each other by name, through links that installing would have made."""
    modules = checkout / "node_modules"
    for manifest in sorted(checkout.rglob("package.json")):
        inside = manifest.relative_to(checkout).parts
        name = _name(manifest) if len(inside) > 1 and "node_modules" not in inside else None
        if name is None or os.path.lexists(modules / name):
            continue
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).symlink_to(manifest.parent)


def _link_packages(run: Run) -> None:
    for name, target in nodemodules.packages(run.node_modules).items() if run.node_modules else ():
        link = run.checkout / nodemodules.NAME / name
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.realpath(target))


def _name(manifest: Path) -> str | None:
    found = package_name(manifest.read_bytes())
    return found if _PACKAGE.fullmatch(found) else None


def _without_missing_base(config: Path, run: Run, depth: int = 10) -> list[str]:
    """Drop `extends` of packages that are not here, in this file and in those of the project it extends."""
    text = config.read_text("utf-8", "replace")
    base = _BASE.search(text)
    if base is None or depth == 0:
        return []
    names = re.findall(r'"([^"]+)"', base[1])
    out = []
    for name in (name for name in names if name.startswith(".")):
        below = Path(os.path.normpath(config.parent / name))
        below = next(
            (path for path in (below, below.with_name(below.name + ".json")) if path.is_file()), below
        )
        if below.is_file() and below.is_relative_to(run.checkout):
            out += _without_missing_base(below, run, depth - 1)
    places = [place / "node_modules" for place in config.parents if place.is_relative_to(run.checkout)]
    packages = [name for name in names if not name.startswith((".", "/"))]
    missing = [name for name in packages if not any((place / _package(name)).exists() for place in places)]
    if missing:
        config.write_text(text[: base.start()] + text[base.end() :])
        where = config.relative_to(run.checkout)
        out.append(f"{where}: settings of {', '.join(missing)} are not installed and were left out")
    return out


def _package(name: str) -> str:
    return "/".join(name.split("/")[: 2 if name.startswith("@") else 1])

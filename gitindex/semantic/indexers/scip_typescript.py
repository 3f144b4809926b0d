"""scip-typescript 0.4: the TypeScript compiler with a SCIP writer. Runs no project code."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from gitindex.semantic import nodemodules
from gitindex.semantic.indexers.adapter import IndexerRun, Program
from gitindex.semantic.indexers.npm_tool import NpmIndexer
from gitindex.semantic.package_names import parse_package_name

_SKIPPED_LINE = re.compile(
    r"^.*(?:skipping|skipped|error indexing|unexpected error).*$", re.IGNORECASE | re.MULTILINE
)

# No leading dot and no slash but that after a scope: the name becomes a path.
_PACKAGE_NAME = re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*")
_EXTENDS = re.compile(r'"extends"\s*:\s*("[^"]*"|\[[^\]]*\])\s*,?')


class ScipTypescript(NpmIndexer):
    name = "scip-typescript"
    language = "typescript"
    package = "@sourcegraph/scip-typescript"
    entry = "dist/src/main.js"
    how_to_get = "gitindex indexers install typescript"

    def prepare(self, run: IndexerRun) -> list[str]:
        """Write a tsconfig for a project without one, as the tool itself would do.

        The compiler stops at a base configuration from a package that is not installed: such bases are dropped.
        Packages of the repository get links to each other, as after an install. Installed packages are linked after
        them, so that none of the user's working tree replaces a package of the checkout.
        """
        _link_workspace(run.checkout)
        _link_packages(run)
        config_paths = [run.directory / name for name in ("tsconfig.json", "jsconfig.json")]
        existing_config = next((config for config in config_paths if config.exists()), None)
        if existing_config is not None:
            return _drop_missing_bases(existing_config, run)
        nested_paths = [posixpath.relpath(path, run.root or ".") for path in run.nested]
        options = {"allowJs": True, "skipLibCheck": True, "esModuleInterop": True, "jsx": "preserve"}
        excluded = ["**/node_modules", *sorted(nested_paths)]
        settings = {"compilerOptions": options, "include": ["**/*"], "exclude": excluded}
        config_paths[0].write_text(json.dumps(settings))
        return []

    def command(self, program: Program, run: IndexerRun) -> list[str]:
        config = run.directory / "tsconfig.json"
        fallback = run.directory / "jsconfig.json"
        project = fallback if fallback.exists() and not config.exists() else run.directory
        return [
            *self.node_command(program, run),
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

    def working_directory(self, run: IndexerRun) -> Path:
        return run.checkout

    def environment(self, base: Mapping[str, str], run: IndexerRun) -> dict[str, str]:
        return {
            **super().environment(base, run),
            "NODE_OPTIONS": f"--max-old-space-size={run.heap_megabytes}",
        }

    def find_remarks(self, log: str) -> list[str]:
        return sorted(set(_SKIPPED_LINE.findall(log)))[:50]


def _link_workspace(checkout: Path) -> None:
    """Make the links of a monorepo's install, by which its packages import each other by name."""
    modules_folder = checkout / "node_modules"
    for package_file in sorted(checkout.rglob("package.json")):
        path_parts = package_file.relative_to(checkout).parts
        if len(path_parts) == 1 or "node_modules" in path_parts:
            continue
        name = _valid_package_name(package_file)
        if name is None or os.path.lexists(modules_folder / name):
            continue
        (modules_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (modules_folder / name).symlink_to(package_file.parent)


def _link_packages(run: IndexerRun) -> None:
    for name, target in nodemodules.list_packages(run.node_modules).items() if run.node_modules else ():
        link = run.checkout / nodemodules.DIRECTORY_NAME / name
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.realpath(target))


def _valid_package_name(package_file: Path) -> str | None:
    name = parse_package_name(package_file.read_bytes())
    return name if _PACKAGE_NAME.fullmatch(name) else None


def _drop_missing_bases(config: Path, run: IndexerRun, depth: int = 10) -> list[str]:
    """Drop `extends` of packages that are not installed, in this file and in the project's files that it extends."""
    text = config.read_text("utf-8", "replace")
    base = _EXTENDS.search(text)
    if base is None or depth == 0:
        return []
    names = re.findall(r'"([^"]+)"', base[1])
    remarks = []
    for name in (name for name in names if name.startswith(".")):
        base_path = Path(os.path.normpath(config.parent / name))
        spellings = (base_path, base_path.with_name(base_path.name + ".json"))
        base_config = next((path for path in spellings if path.is_file()), None)
        if base_config is not None and base_config.is_relative_to(run.checkout):
            remarks += _drop_missing_bases(base_config, run, depth - 1)
    module_folders = [
        folder / "node_modules" for folder in config.parents if folder.is_relative_to(run.checkout)
    ]
    packages = [name for name in names if not name.startswith((".", "/"))]
    missing = [
        name
        for name in packages
        if not any((folder / _package_of_import(name)).exists() for folder in module_folders)
    ]
    if missing:
        config.write_text(text[: base.start()] + text[base.end() :])
        relative_path = config.relative_to(run.checkout)
        remarks.append(
            f"{relative_path}: settings of {', '.join(missing)} are not installed and were left out"
        )
    return remarks


def _package_of_import(import_path: str) -> str:
    return "/".join(import_path.split("/")[: 2 if import_path.startswith("@") else 1])

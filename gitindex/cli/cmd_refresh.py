"""`gitindex refresh`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from gitindex import child
from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.packages import add_package_options
from gitindex.model.paths import path_key
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.exact.indexer_inputs import locate_node_modules, locate_python_env, make_caps, memory_gib
from gitindex.ops.exact.refresh import ContextReport, RefreshOptions, RefreshReport, refresh


@command(
    "Import exact facts (SCIP) for HEAD: definitions, references, hover. Runs in the background unless --wait is given."
)
@click.option(
    "--context",
    "contexts",
    multiple=True,
    metavar="NAME",
    help="Only this context: an id, a language or a root.",
)
@click.option("--files", is_flag=True, help="Only the given PATHs instead of whole projects.")
@click.argument("paths", nargs=-1)
@click.option("--wait", is_flag=True, help="Run the jobs in this process and wait for them.")
@click.option("--allow-project-code", is_flag=True, help="Allow indexers to run the project's build scripts.")
@click.option(
    "--timeout", type=float, default=3600.0, show_default=True, help="Time limit of one indexer, in seconds."
)
@click.option(
    "--memory", type=float, default=8.0, show_default=True, help="Memory limit of one indexer, in GiB."
)
@add_package_options
def run(
    call: CommandCall,
    contexts: tuple[str, ...],
    files: bool,
    paths: tuple[str, ...],
    wait: bool,
    allow_project_code: bool,
    timeout: float,
    memory: float,
    python_env: Path | None,
    node_modules: Path | None,
) -> Answer:
    if files != bool(paths):
        raise click.UsageError("--files and paths belong together: gitindex refresh --files PATH…")
    codebase = open_codebase(call.path, call.environment)
    keys = tuple(_resolve_key(codebase, call.path, path) for path in paths)
    options = RefreshOptions(
        contexts=contexts,
        files=keys,
        wait=wait,
        allow_project_code=allow_project_code,
        caps=make_caps(seconds=timeout, memory_gib=memory),
        python_env=locate_python_env(python_env),
        node_modules=locate_node_modules(node_modules),
    )
    report = refresh(codebase, options, _progress_printer(call))
    queued = [item for item in report.contexts if item.outcome == "queued"]
    if queued:
        _start_worker(call, _worker_arguments(codebase.root, options))
    return Answer(asdict(report), _render_text(report), 0 if report.status == "ok" else 1)


def _resolve_key(codebase: Codebase, base: Path, text: str) -> str:
    """Resolve against the current directory first, then against the root."""
    for start in (base if base.is_dir() else base.parent, codebase.root):
        full_path = (start / text).resolve()
        if full_path.exists() and full_path.is_relative_to(codebase.root):
            return path_key(full_path.relative_to(codebase.root).as_posix())
    return path_key(text)


def _worker_arguments(root: Path, options: RefreshOptions) -> list[str]:
    """Arguments of a process that waits for the same request; every path is absolute or a path key."""
    arguments = ["refresh", "--wait", f"--path={root}", f"--timeout={options.caps.seconds}"]
    arguments += [f"--memory={memory_gib(options.caps)}"]
    arguments += [f"--context={name}" for name in options.contexts]
    arguments += [f"--python-env={options.python_env}"] if options.python_env else []
    arguments += [f"--node-modules={options.node_modules}"] if options.node_modules else []
    arguments += ["--allow-project-code"] if options.allow_project_code else []
    return arguments + (["--files", "--", *options.files] if options.files else [])


def _start_worker(call: CommandCall, arguments: list[str]) -> None:
    """Start a detached process that runs the queued jobs."""
    from gitindex.hooks import spawn

    line = shlex.join(child.command("gitindex", *arguments))
    shell = ["/bin/sh", "-c", f"{line} </dev/null >/dev/null 2>&1 &"]
    spawn.run(shell, child.child_environment(call.environment.variables), where=Path(child.DIRECTORY))


def _progress_printer(call: CommandCall) -> Callable[[str], None]:
    def notify(context: str) -> None:
        if not call.as_json and sys.stderr.isatty():
            output.write_error(f"refreshing {context}")

    return notify


def _render_text(report: RefreshReport) -> str:
    if not report.contexts:
        return "no project that an exact indexer supports"
    lines = [f"HEAD {report.head[:12]}"]
    for item in report.contexts:
        lines += _context_lines(item)
    if any(item.outcome == "queued" for item in report.contexts):
        lines.append("next: gitindex jobs")
    return "\n".join(lines)


def _context_lines(item: ContextReport) -> list[str]:
    lines = [
        output.single_line(
            f"{item.outcome:<12} {item.context}  {item.tool}, {output.pluralize(item.files, 'file')}"
        )
    ]
    detail = item.detail
    if item.outcome == "refreshed" and detail:
        lines.append(
            f"  {output.pluralize(detail['documents'], 'document')}: {detail['written']:,} written, "
            f"{detail['unchanged']:,} unchanged, {detail['buried']:,} removed; {detail['occurrences']:,} occurrences, "
            f"{detail['demoted']:,} contradicted, {detail['repaired']:,} repaired, {detail['unresolved']:,} unresolved"
        )
        lines += [
            output.single_line(f"  excluded, because it crashes the indexer: {path}")
            for path in detail["excluded"]
        ]
        lines += [output.single_line(f"  {remark}") for remark in detail["remarks"][:5]]
    if item.message:
        name = f"{item.diagnosis}: " if item.diagnosis else ""
        lines.append(output.single_line(f"  {name}{item.message}"))
    if item.next:
        lines.append(f"  next: {item.next}")
    return lines

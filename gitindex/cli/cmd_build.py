"""`gitindex build`."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output, summary
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.packages import add_package_options
from gitindex.cli.progress_bar import progress_bar
from gitindex.cli.transfer import transfer_bar
from gitindex.errors import UsageError
from gitindex.ops.exact.indexer_inputs import locate_node_modules, locate_python_env
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_options import BuildOptions, BuildReport, Shard


@command("Build the snapshot of a commit from git objects alone, for `push`. Your own index stays as it is.")
@click.option("--commit", "rev", default="HEAD", metavar="REV", show_default=True, help="Commit to build.")
@click.option("--full", is_flag=True, help="Build from scratch instead of from the nearest built ancestor.")
@click.option("--from", "url", default="", metavar="URL", help="Remote to search for published ancestors.")
@click.option("--shard", default="", metavar="I/N", help="Build part I of N of the paths (see merge).")
@click.option("--output", type=click.Path(path_type=Path), help="Directory for the shard.")
@click.option("--no-semantic", is_flag=True, help="Do not run exact (SCIP) indexers.")
@add_package_options
@click.option("--allow-project-code", is_flag=True, help="Allow indexers to run the project's build scripts.")
@click.option("--allow-degraded", is_flag=True, help="Build even if some files or indexers failed.")
def run(
    call: CommandCall,
    rev: str,
    full: bool,
    url: str,
    shard: str,
    output: Path | None,
    no_semantic: bool,
    python_env: Path | None,
    node_modules: Path | None,
    allow_project_code: bool,
    allow_degraded: bool,
) -> Answer:
    options = BuildOptions(
        rev=rev,
        full=full,
        url=url,
        allow_degraded=allow_degraded,
        exact_facts=not no_semantic,
        python_env=locate_python_env(python_env),
        node_modules=locate_node_modules(node_modules),
        allow_project_code=allow_project_code,
        shard=_parse_shard(shard),
        output=output,
    )
    with (
        progress_bar(not call.as_json) as progress,
        transfer_bar("fetching the base", not call.as_json) as transfer,
    ):
        report = build(call.path, call.environment, options, progress, transfer)
    summary.append(call.environment, f"gitindex built {report.commit[:12]}", _summary_rows(report))
    summary.set_outputs(call.environment, {"snapshot": report.snapshot_id})
    return Answer(asdict(report), _render_text(report))


def _parse_shard(text: str) -> Shard | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text)
    if match is None:
        raise UsageError(f"not a shard: {text!r}", hint="--shard 1/4 --output DIR")
    return Shard(int(match[1]), int(match[2]))


def _summary_rows(report: BuildReport) -> list[tuple[str, str]]:
    languages = sorted(report.languages.items(), key=lambda item: -item[1])[:8]
    return [
        ("commit", report.commit),
        ("started from", f"{report.base} {(report.base_commit or '')[:12]}".strip()),
        ("files", f"{report.counts['files']:,}"),
        ("chunks", f"{report.counts['chunks']:,}"),
        ("languages", ", ".join(f"{name} {count:,}" for name, count in languages)),
        ("skipped", ", ".join(f"{name} {count:,}" for name, count in report.skipped.items()) or "nothing"),
        ("exact (SCIP)", ", ".join(map(_format_indexer, report.indexers)) or "none"),
        ("segments", str(report.segments)),
        ("time", f"{report.elapsed_ms / 1000:.1f} s"),
        *([("note", report.note)] if report.note else []),
    ]


def _format_indexer(indexer: dict[str, Any]) -> str:
    return f"{indexer['language']} {indexer['root'] or '.'}: {indexer['files']:,} files, {indexer['outcome']}"


def _render_text(report: BuildReport) -> str:
    verb = "already built" if report.noop else "built"
    changed = ", ".join(f"{count:,} {name}" for name, count in report.changes.items() if count)
    base = f"{report.base} {report.base_commit[:12]}" if report.base_commit else "nothing"
    lines = [
        f"{verb} {report.commit[:12]} as {report.snapshot_id}, from {base}"
        + (f": {changed}" if changed else ""),
        f"{output.pluralize(report.counts['files'], 'file')}, {output.pluralize(report.counts['chunks'], 'chunk')}, "
        f"{output.pluralize(report.segments, 'segment')} in {report.elapsed_ms} ms",
        f"repository {report.repository}",
    ]
    lines += [
        f"exact: {_format_indexer(indexer)}" + (f" ({indexer['message']})" if indexer["message"] else "")
        for indexer in report.indexers
    ]
    lines += [f"note: {report.note}"] if report.note else []
    return "\n".join([*lines, "next: gitindex push"])

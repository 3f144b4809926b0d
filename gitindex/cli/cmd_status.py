"""`gitindex status`."""

from __future__ import annotations

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.hooks.background_runs import BackgroundStatus, read_background
from gitindex.hooks.journal import DIED, FAILED, RUNNING
from gitindex.model.json_answer import to_json
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.index_status import BLOCKED_HINT, StatusAnswer, status

_GATED_STATUSES = ("not_ready", "requires_reindex", "not_indexed")
_EXIT = {**dict.fromkeys(_GATED_STATUSES, 3), "corrupt": 4, "incompatible": 8}


@command("Report what is indexed, what is pending, and whether the index is fresh, complete and trusted.")
def run(call: CommandCall) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    answer = status(codebase)
    background = read_background(codebase.repo.git_dir) if codebase.repo else None
    data = {**answer.to_json(), "background": to_json(background)}
    return Answer(data, _render_text(answer, background), _EXIT.get(answer.status, 0))


def _render_text(answer: StatusAnswer, background: BackgroundStatus | None) -> str:
    if answer.status in _GATED_STATUSES and answer.verdict is not None:
        hints = answer.verdict.hints
        next_action = next(hints[name] for name in ("reindex", "create", "status") if name in hints)
        lines = [output.single_line(answer.verdict.message), f"  next: {next_action['command']}"]
        lines += ["", *_snapshot_lines(answer, background)] if answer.snapshot_id else []
    elif answer.status in ("corrupt", "incompatible"):
        lines = [output.single_line(f"the index of {answer.codebase_root} is {answer.status}")]
    else:
        lines = _snapshot_lines(answer, background)
    for problem in answer.problems:
        lines.append(output.single_line(f"problem: {problem.message}"))
        lines.extend([f"  next: {problem.next}"] if problem.next else [])
    for notice in answer.notices:
        lines += [f"notice: {notice.message}", f"  next: {notice.next}"]
    return "\n".join(lines)


def _snapshot_lines(answer: StatusAnswer, background: BackgroundStatus | None) -> list[str]:
    assert answer.counts is not None, "a snapshot has counts"
    assert answer.truth is not None, "a snapshot has truths"
    counts, coverage = answer.counts, answer.truth.coverage
    rows = [
        ("root", answer.codebase_root),
        ("snapshot", f"{answer.snapshot_id}  {answer.created_at}"),
        ("files", f"{counts.files_indexed:,}  ({output.format_size(counts.text_bytes)} of text)"),
        ("chunks", f"{counts.chunks_indexed:,}"),
        ("symbols", f"{counts.symbols:,}"),
        ("segments", f"{answer.segments}  ({answer.tombstones:,} tombstones)"),
        ("pending", _format_pending(answer)),
        *_background_rows(background),
    ]
    rows += [(f"skipped {reason}", f"{count:,}") for reason, count in coverage.skipped.items()]
    rows += [(f"text only ({limit})", f"{count:,}") for limit, count in coverage.text_only.items()]
    lines = [answer.truth.summary_line(), "", output.format_table(rows)]
    if answer.blocked:
        lines += [output.single_line(f"blocked: {error.message}") for error in answer.blocked]
        lines.append(f"  next: {BLOCKED_HINT}")
    lines += [output.single_line(f"degraded: {error.path_key}: {error.message}") for error in answer.errors]
    return lines


def _background_rows(background: BackgroundStatus | None) -> list[tuple[str, str]]:
    if background is None:
        return []
    if background.obstacle:
        return [("background", background.obstacle)]
    last_run = background.last_run
    if last_run is None:
        return [("background", "a hook requested a sync")] if background.pending else []
    if last_run.result == RUNNING:
        return [("background", f"running since {last_run.started_at}")]
    recovered = (
        ", a later sync succeeded" if last_run.result in (FAILED, DIED) and not background.pending else ""
    )
    return [("background", f"{last_run.result} at {last_run.ended_at or last_run.started_at}{recovered}")]


def _format_pending(answer: StatusAnswer) -> str:
    if answer.pending is None:
        return "unknown"
    if answer.in_sync:
        return "nothing"
    files = output.pluralize(answer.pending, "file")
    return f"{files}; a sync is blocked" if answer.blocked else f"{files}; run: gitindex sync"

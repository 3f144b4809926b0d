"""`gitindex search`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, WordsCommand, command
from gitindex.search.request import MAX_LIMIT, MODES, REGEX, Request

if TYPE_CHECKING:
    from gitindex.ops.answers.search_answer import QueryAnswer
    from gitindex.ops.codebase import Codebase
    from gitindex.search.hit import FurtherPlace, Hit, SearchAnswer

HELP = """Search the index.

QUERY is words, "quoted phrases", prefix*, -excluded, and the filters path: lang: kind: sym: (each may be negated:
-path:tests). After -- everything is QUERY, even what looks like an option. With --mode regex it is an RE2 pattern,
matched line by line. Without QUERY, --tag, --since, --until and --session list the notes they match.

A result is a file: its best passage, up to two further places (in JSON: places) and how many of its chunks match
(chunks). Code comes before tests, examples and pages unless QUERY names them. With --files they count no less than
code: what a change that QUERY describes would touch. With --flat every passage is a result of its own.

Pasted text (long, of several lines, a traceback, a diff) is no query language: all of its words count, none is
demanded, and the paths, modules, frames and identifiers in it count first.
"""


@command(HELP, cls=WordsCommand, context_settings={"max_content_width": 110})
@click.argument("words", metavar="QUERY", nargs=-1)
@click.option("--mode", type=click.Choice(MODES), default=MODES[0], show_default=True, help="Retrieval mode.")
@click.option("--files", is_flag=True, help="Tests, pages and settings count no less than code.")
@click.option("--flat", is_flag=True, help="List passages one by one instead of files.")
@click.option("--limit", type=click.IntRange(1, 200), default=None, help="Maximum number of results.")
@click.option(
    "--glob", "globs", multiple=True, help="Only paths that match, as in .gitignore: 'src/**', '*.py'."
)
@click.option("--lang", "languages", multiple=True, help="Only files in this language.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only this kind of symbol (function …) or file (test …).",
)
@click.option("--tag", "tags", multiple=True, help="Only notes with this tag in their front matter.")
@click.option("--since", default="", metavar="DATE", help="Only notes dated on or after this ISO-8601 date.")
@click.option("--until", default="", metavar="DATE", help="Only notes dated on or before this ISO-8601 date.")
@click.option("--session", default="", metavar="ID", help="Only notes of this session.")
@click.option("--sync", "catch_up", is_flag=True, help="Sync before searching.")
@click.option("--stale-ok", is_flag=True, help="Use the last good snapshot while the index is being rebuilt.")
def run(
    call: CommandCall,
    words: tuple[str, ...],
    mode: str,
    files: bool,
    flat: bool,
    limit: int | None,
    globs: tuple[str, ...],
    languages: tuple[str, ...],
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    since: str,
    until: str,
    session: str,
    catch_up: bool,
    stale_ok: bool,
) -> Answer:
    codebase = call.open_codebase()
    result_limit = limit or codebase.settings.query.limit
    request = Request(
        " ".join(words), mode, result_limit, globs, languages, kinds, tags, since, until, session, files, flat
    )
    from gitindex.ops.syncing.worktree_status import start_status

    with start_status(codebase) as early_status:
        from gitindex.ops.answers.search_answer import (  # late: loads while git looks (UI-3)
            QueryOptions,
            query,
        )

        options = QueryOptions(catch_up, stale_ok, call.environment.debug, call.path)
        answer = query(codebase, request, options, early_status)
    return Answer(answer.to_json(), "" if call.as_json else render(answer, request, codebase))


def render(answer: QueryAnswer, request: Request, codebase: Codebase) -> str:
    results = answer.result
    term_pattern = _build_term_pattern(request)
    parts = [_render_hit(item, codebase.root, term_pattern) for item in results.hits]
    footer = [] if results.hits else ["no results" + (f" for {request.query!r}" if request.query else "")]
    if results.suggestions:
        footer.append(f"did you mean: {output.single_line(', '.join(results.suggestions))}?")
    if results.truncated:
        footer.append(output.style(_render_truncation(results, request.limit), dim=True))
    footer += [output.style(f"note: {remark}", dim=True) for remark in results.notes]
    if results.degraded:
        next_command = next((hint["command"] for hint in answer.hints.values() if "command" in hint), "")
        footer.append(
            output.style(f"degraded: the files were scanned because {results.degraded}", fg="yellow")
        )
        footer.append(f"  next: {next_command}")
    if answer.stale:
        footer.append(
            output.style("stale: the index is being rebuilt; this is the last good snapshot", fg="yellow")
        )
    if answer.sync_skipped:
        footer.append(output.style(answer.sync_skipped, fg="yellow"))
    footer += _skipped_lines(answer) if not results.hits else []
    if answer.truth:
        footer.append(output.style(answer.truth.summary_line(), dim=True))
    return "\n\n".join([*parts, "\n".join(footer)])


def _render_hit(hit: Hit, root: Path, term_pattern: re.Pattern[str] | None) -> str:
    location = f"{hit.path}:{hit.matches[0] if hit.matches else hit.snippet_line}"
    symbol_label = (
        f"  {output.single_line(hit.symbol)}" + (f" ({hit.kind})" if hit.kind else "") if hit.symbol else ""
    )
    chunk_count = f"{hit.chunks:,} chunk{'s' * (hit.chunks != 1)}" if hit.chunks else ""
    details = ", ".join(filter(None, ("+".join(hit.layers), chunk_count)))
    score_label = output.style(f"  {hit.score:.2f} {details}".rstrip(), dim=True)
    lines = hit.snippet.split("\n")
    width = len(str(hit.snippet_line + len(lines)))
    body = [
        f"{output.style(f'{hit.snippet_line + offset:>{width}}', fg='green')}  {_highlight(line, term_pattern)}"
        for offset, line in enumerate(lines)
    ]
    further = [_render_place(place, width) for place in hit.places]
    head = output.link(location, root / hit.path) + output.style(symbol_label, bold=True) + score_label
    return "\n".join([head, *body, *further])


def _render_place(place: FurtherPlace, width: int) -> str:
    """A further place of the file: its first line, and the definition it is part of."""
    symbol_label = output.style(f"  {output.single_line(place.symbol)}", bold=True) if place.symbol else ""
    return f"{output.style(f'{place.start_line:>{width}}', fg='green')}  {place.text}{symbol_label}"


def _render_truncation(results: SearchAnswer, limit: int) -> str:
    """What was left out, and what helps: a higher limit only if it was the limit that cut, and can be higher."""
    if not results.left_out:
        count = "there may be more"
    else:
        count = f"at least {results.left_out:,} more" if results.at_least else f"{results.left_out:,} more"
    if not results.hits:
        return f"{count}: only the nearest were looked at"
    limit_advice = "raise --limit or " if len(results.hits) == limit < MAX_LIMIT else ""
    return f"{count}; {limit_advice}narrow the query"


def _skipped_lines(answer: QueryAnswer) -> list[str]:
    """What an empty answer did not look at."""
    if answer.truth is None or not answer.truth.coverage.skipped:
        return []
    skipped = ", ".join(
        f"{count:,} {reason}" for reason, count in sorted(answer.truth.coverage.skipped.items())
    )
    return [f"not searched: {skipped}"]


def _build_term_pattern(request: Request) -> re.Pattern[str] | None:
    """Words to show in bold; only a terminal shows them."""
    if request.mode == REGEX or not output.is_styling_enabled():
        return None
    from gitindex.search.parse import parse_request

    terms = parse_request(request).terms
    escaped_terms = [re.escape(term) for term in terms if len(term) > 1]
    return (
        re.compile("|".join(sorted(escaped_terms, key=len, reverse=True)), re.IGNORECASE)
        if escaped_terms
        else None
    )


def _highlight(line: str, term_pattern: re.Pattern[str] | None) -> str:
    return term_pattern.sub(lambda found: output.style(found[0], bold=True), line) if term_pattern else line

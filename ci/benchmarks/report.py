"""The results page: everything one run measured, with when, where and how. Host names and paths stay out of it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from benchmarks.measure import DID_NOT_RUN, Curve, Row, Section, anchor, table

TITLES = {
    "build": "Full build",
    "sync": "Incremental sync",
    "query": "Queries",
    "hooks": "Hooks",
    "share": "Sharing",
    "semantic": "Exact intelligence",
    "retrieval": "Retrieval quality",
    "peers": "Against other tools",
    "scale": "Growth",
}
# What a reader must know to read the rows below.
ABOUT = {
    "build": "An index of Django 5.2 from nothing. The floor is the least such an index must do: parse every file with "
    "tree-sitter and index its words with Tantivy. `effect` is TypeScript, `mixed` four projects in many languages.",
    "sync": "Files of an indexed repository change; `gitindex sync` in a fresh process brings its index up again.",
    "query": "Cold: a command from its start to its end. Warm: one question to a process that answered others before, "
    "as behind the MCP server. Corpus: Django 5.2.",
    "hooks": "What installed hooks add to a `git commit` that somebody waits for; the indexing itself comes later, in "
    "the background. Differences are taken within a round of commits with and without hooks.",
    "share": "A signed index of Django 5.2 is pushed to an S3 server and fetched by somebody who has none, over a line "
    "with no and with 30 ms of latency. Exact (SCIP) facts come from the recorded output of scip-python.",
    "semantic": "Exact (SCIP) facts of Django 5.2 are imported and asked for. Decoding is the least an import must do: "
    "read every occurrence of the file, and nothing else.",
    "retrieval": "The first sentence of a docstring asks for its function; the docstrings are taken out of the code. "
    "Both figures are NDCG@10 on projects that neither training nor tuning saw; `anonymous` takes names and paths away "
    "too. Rows of subjects ask the history of this repository which files a commit touched. More is better, so the "
    "ratio is against over measured.",
    "peers": "The same corpus, machine and run. `index` is from nothing; `update` lasts from the change of one file "
    "until the tool is right again (`none`: it has nothing to update); `query` is one question from a fresh process "
    "unless the row says otherwise. No two tools do the same: the last columns say what each does and does not.",
    "scale": "Cost against size, for everything that grows.",
}
# Shown only where the row misses its bound in the run at hand.
REASONS = {
    "full build, no vectors": "the floor parses and indexes only; a build also extracts symbols, calls, identifiers "
    "and sub-words, hashes and fsyncs every file. Where the rest goes: [profiles.md](profiles.md).",
    "cold lexical search": "most of it is starting Python and importing modules; the search itself is the warm figure. "
    "[profiles.md](profiles.md) lists what is imported.",
    "cold lexical search over interpreter start": "as above: importing, not searching.",
    "git commit with native hooks, added median": "starting `sh` for the hook is most of it; the shim itself runs "
    "builtins only.",
    "import": "decoding alone looks at no text; an import checks every occurrence against its file.",
    "the same, repository 4 × larger": "git's own look at the working tree grows with it, and the rest became quicker.",
}
INTRO = """# Benchmarks

`ci/bench` writes this page; do not edit. Every row compares a measurement with a baseline (`against`) of the same run.
The ratio is measured over against, inverted where more is better; a bound is kept when the ratio is not above it, and a
row that misses its bound says so. Times are medians (lowest–highest, n = repetitions) unless a row says otherwise.
Corpora are source distributions from the package registries, committed to fresh repositories
(`ci/benchmarks/corpus.py`).
"""
QUICK = (
    "**A quick run: fewer repetitions, smaller sizes. It shows that all works; do not quote its numbers.**\n"
)


def machine(quick: bool) -> dict[str, Any]:
    """When, where, how; the command without the directories of whoever ran it."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "git": _version("git", "--version"),
        "quick": quick,
        "command": command(sys.argv[1:]),
    }


def command(arguments: list[str]) -> str:
    """The command line as anybody would type it: the cache and files outside docs have no place here."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("--cache", "--json", "--markdown", "--plots"):
            skip = True
        elif not re.match("--(cache|json|markdown|plots)=", argument):
            kept.append(argument)
    return " ".join(["ci/bench", *kept])


def _version(*arguments: str) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found[0] if found else "unknown"


def page(
    about: dict[str, Any], found: dict[str, Section], seconds: dict[str, float], drawings: dict[str, str]
) -> str:
    """The whole page as Markdown; `drawings` are file names by curve group."""
    parts = [INTRO, QUICK if about["quick"] else "", _about(about, seconds), verdict(found), _left_out(found)]
    parts.append(_contents(found))
    for name, section in found.items():
        parts.append(f'## <a id="{name}"></a>{TITLES[name]}\n')
        parts.append(f"{ABOUT[name]}\n")
        parts.append(body(name, section, drawings) + "\n")
    parts.append(missed(found))
    parts.append(
        "Retrieval quality by project: [retrieval.md](retrieval.md). Where the time goes: [profiles.md](profiles.md). "
        "A long random life of an index: [soak.md](soak.md)."
    )
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _contents(found: dict[str, Section]) -> str:
    lines = [f"- [{TITLES[name]}](#{name})" + _kept(section.rows) for name, section in found.items()]
    return "\n".join([*lines, ""])


def _kept(rows: list[Row]) -> str:
    bounded = [row.kept for row in rows if row.bound is not None]
    return f": {sum(bounded)} of {len(bounded)} bounds kept" if bounded else ""


def body(name: str, section: Section, drawings: dict[str, str]) -> str:
    rows = table(section.rows, name) if section.rows else ""
    grown = curves(section.curves, drawings) if section.curves else ""
    return "\n\n".join(part.strip() for part in (rows, grown, section.text) if part)


def _about(about: dict[str, Any], seconds: dict[str, float]) -> str:
    spent = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    took = f"\nThe run took {sum(seconds.values()) / 60:.0f} minutes ({spent}).\n" if seconds else ""
    where = f"{about['cores']} cores (load {about['load']} at the start), {about['memory_gib']} GiB, {about['system']}"
    return (
        f"Measured {about['at'][:10]} on {where}, Python {about['python']}, git {about['git']}, with:\n\n"
        f"```sh\n{about['command']}\n```\n{took}"
    )


def _left_out(found: dict[str, Section]) -> str:
    """Named, so that a link to a row of theirs is known to wait for the next whole run."""
    missing = [name for name in TITLES if name not in found]
    return f"Not in this run: {', '.join(missing)}.\n" if missing else ""


def verdict(found: dict[str, Section]) -> str:
    bounded = [row for section in found.values() for row in section.rows if row.bound is not None]
    kept = sum(row.kept for row in bounded)
    return f"**{kept} of {len(bounded)} bounds kept.**\n"


def missed(found: dict[str, Section]) -> str:
    """One line per miss, with its reason where one is known."""
    lines = [
        f"- [{row.name}](#{anchor(name, row.name)}): {_miss(row)}"
        for name, section in found.items()
        for row in section.rows
        if not row.kept
    ]
    return "\n".join(["## What missed its bound\n", *lines, ""]) if lines else ""


def _miss(row: Row) -> str:
    if row.value == DID_NOT_RUN:
        return f"{DID_NOT_RUN}; {row.baseline}."
    return f"{row.ratio:.2f} against {row.bound:g}" + (
        f"; {REASONS[row.name]}" if row.name in REASONS else "."
    )


def groups(found: dict[str, Section]) -> dict[str, list[Curve]]:
    """Curves that share both axes are drawn together."""
    made: dict[str, list[Curve]] = {}
    for section in found.values():
        for curve in section.curves:
            made.setdefault(f"{curve.y} by {curve.x}", []).append(curve)
    return made


def drawing_name(group: str) -> str:
    return f"{anchor('', group.partition(' by ')[2])}-{anchor('', group.partition(' by ')[0])}.svg"


def curves(found: list[Curve], drawings: dict[str, str]) -> str:
    """A line per curve with its points, then the drawings."""
    lines = ["| cost | against | points | slope | |", "|---|---|---|---|---|"]
    for curve in found:
        points = ", ".join(f"{_short(x)}: {_short(y)}" for x, y in curve.points)
        slope = f"{curve.slope:.2f}" if curve.slope is not None else ""
        place = f'<a id="{anchor("scale", f"{curve.name} by {curve.x}")}"></a>'
        lines.append(f"| {place}{curve.name}, {curve.y} | {curve.x} | {points} | {slope} | {curve.note} |")
    lines += [
        "",
        "The slope is that of the line fitted through the logarithms: 1 is linear, 0 does not grow.",
        "",
    ]
    for group in dict.fromkeys(f"{curve.y} by {curve.x}" for curve in found):
        if group in drawings:
            lines.append(f"![{group}]({drawings[group]})")
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

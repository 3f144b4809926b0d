"""The same corpus, the same machine, the same run: what other tools take, and what they do and do not do.

A tool that cannot be had here keeps its row, with the reason. `update` is the time after one file changed until the
tool's index is right again; `query` is one question from a fresh process, unless the row says otherwise.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import build, corpus, tools
from benchmarks.measure import (
    Row,
    Section,
    anchor,
    child,
    disk,
    environment,
    gitindex,
    mebibytes,
    show,
    timed,
)
from benchmarks.tools import Missing, Tool
from gitindex import __version__

WORD = "get_queryset"
DRIVERS = Path(__file__).resolve().parent / "drivers"


# What each does, and what it does not.
ABOUT = {
    "gitindex": (
        "words, symbols, vectors, references and graphs of a commit; incremental, shared, signed",
        "answer from a running process on the command line (over MCP it does)",
    ),
    "ripgrep": (
        "literal and regular-expression search of the files as they are",
        "index, rank, know symbols or commits",
    ),
    "git grep": ("the same over tracked files, of any commit", "index, rank, know symbols"),
    "universal-ctags": (
        "definitions by name, many languages",
        "references, text, ranking, incremental update",
    ),
    "GNU global": (
        "definitions by name, incremental (Python through universal-ctags; references of other languages)",
        "references in Python unless Pygments parses it, rank, search text by relevance, know commits",
    ),
    "code-index-mcp": (
        "symbols of seven languages, text search through grep tools, over MCP (query: of a running server)",
        "rank, vectors, references across files, commits, sharing",
    ),
    "aider's repo map": (
        "a ranked outline within a token budget (query: one map of 1,024 tokens)",
        "search, answer about a symbol, know commits",
    ),
    "tree-sitter + Tantivy": (
        "the least such an index must do: parse every file, index its words",
        "symbols, chunks, increments, checks",
    ),
    "plain BM25": (
        "Tantivy's default tokenizer over whole files; the quality baseline of [retrieval.md](retrieval.md) "
        "(query: in a running process)",
        "sub-words, symbols, vectors",
    ),
}


@dataclass(frozen=True)
class Found:
    version: str = ""
    index: float | None = None  # seconds
    update: float | None = None
    query: float | None = None
    size: int | None = None  # bytes
    missing: str = ""


def run(cache: Path, quick: bool) -> Section:
    desk = Desk(cache, 3 if quick else 9, whole=not quick)
    found = {name: _asked(measure, desk) for name, measure in MEASURES.items()}
    us, grep = found["gitindex"].query, found["git grep"].query
    rows = [
        Row("gitindex, one question", show(us), f"git grep {show(grep)}", us / grep, None)
        if us and grep
        else Row.failed("gitindex, one question", found["gitindex"].missing)
    ]
    return Section(rows=rows, text=_table(found), data={name: asdict(one) for name, one in found.items()})


class Desk:
    """A clone of the corpus that tools may litter, and how often to repeat."""

    def __init__(self, cache: Path, runs: int, *, whole: bool) -> None:
        self.cache, self.runs, self.whole = cache, runs, whole
        self.root = cache / "peers" / "work" / "django"
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["git", "clone", "-q", str(corpus.repository(corpus.DJANGO, cache)), str(self.root)], check=True
        )
        self._turn = 0

    def edit(self) -> None:
        self._turn += 1
        corpus.edit(self.root / "django" / "views" / "generic" / "list.py", f"peer_{self._turn}")

    def spent(
        self, *command: str | Path, env: dict[str, str] | None = None, runs: int | None = None
    ) -> float:
        """Median seconds of a command in the clone; finding nothing is no failure."""
        given = {**os.environ, **(env or {})}
        return timed(
            lambda: child([str(part) for part in command], self.root, given, ok=(0, 1)), runs or self.runs
        ).median

    def updated(self, *command: str | Path, env: dict[str, str] | None = None) -> float:
        given = {**os.environ, **(env or {})}
        line = [str(part) for part in command]
        return timed(lambda: child(line, self.root, given), self.runs, warm=0, before=self.edit).median


def _asked(measure: Callable[[Desk], Found], desk: Desk) -> Found:
    try:
        return measure(desk)
    except Missing as reason:
        return Found(missing=f"not installed here: {reason}")
    except (SystemExit, OSError, subprocess.SubprocessError) as error:
        told = " ".join(str(error).replace(str(desk.cache), "CACHE").split())
        return Found(missing=f"its run failed: {told[:160]}".replace("|", "/"))


def ours(desk: Desk) -> Found:
    home = desk.cache / "homes" / "peers"
    shutil.rmtree(home, ignore_errors=True)
    env = environment(home)
    built = child(gitindex("sync"), desk.root, env).wall
    size = disk(home / "data")
    asked = desk.spent(*gitindex("search", WORD, "--mode", "lexical"), env=env)
    updated = desk.updated(*gitindex("sync"), env=env)
    return Found(version=__version__, index=built, update=updated, query=asked, size=size)


def ripgrep(desk: Desk) -> Found:
    tool = tools.debian("rg", desk.cache, "ripgrep")
    asked = desk.spent(tool.program, "-n", WORD, ".", env=tool.env)
    return Found(version=tool.version(), query=asked, update=0.0, size=0)


def git_grep(desk: Desk) -> Found:
    asked = desk.spent("git", "grep", "-n", WORD)
    version = Tool(Path("git"), dict(os.environ)).version()
    return Found(version=version, query=asked, update=0.0, size=0)


def ctags(desk: Desk) -> Found:
    tool = tools.debian("ctags", desk.cache, "universal-ctags")
    if (
        "Universal"
        not in subprocess.run([tool.program, "--version"], capture_output=True, text=True, check=False).stdout
    ):
        raise Missing("the ctags on PATH is another one")
    tags = desk.cache / "peers" / "work" / "tags"
    command = [tool.program, "-R", "-f", tags, "."]
    built = desk.spent(*command, env=tool.env, runs=1)
    reader = tool.program.with_name("readtags")
    asked = desk.spent(reader, "-t", tags, WORD, env=tool.env) if reader.exists() else None
    updated = desk.updated(*command, env=tool.env)
    return Found(version=tool.version(), index=built, update=updated, query=asked, size=tags.stat().st_size)


def gnu_global(desk: Desk) -> Found:
    tool = tools.debian("gtags", desk.cache, "global", "libltdl7")
    ctags_program = tools.debian("ctags", desk.cache, "universal-ctags").program
    store = desk.cache / "peers" / "work" / "gtags"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    env = {
        **tool.env,
        "GTAGSDBPATH": str(store),
        "GTAGSROOT": str(desk.root),
        **_gtags_label(desk, ctags_program, tool),
    }
    built = child([str(tool.program), str(store)], desk.root, env).wall
    program = tool.program.with_name("global")
    asked = desk.spent(program, "-x", WORD, env=env)
    updated = desk.updated(program, "-u", env=env)
    return Found(version=tool.version(), index=built, update=updated, query=asked, size=disk(store))


def _gtags_label(desk: Desk, ctags_program: Path, tool: Tool) -> dict[str, str]:
    """Parse through universal-ctags: the built-in parser knows no Python."""
    plugin = next(tool.program.parents[1].rglob("universal-ctags.so"), None)
    if plugin is None:
        return {}
    configured = desk.cache / "peers" / "work" / "gtags.conf"
    kinds = r"Python\:.py,JavaScript\:.js"
    configured.write_text(
        "default:\\\n\t:skip=GTAGS,GRTAGS,GPATH,.git/:\\\n"
        f"\t:ctagscom={ctags_program}:\\\n\t:ctagslib={plugin}:\\\n"
        + "".join(f"\t:langmap={kind}:\\\n" for kind in kinds.split(","))
        + "".join(
            f"\t:gtags_parser={kind.partition(chr(92))[0]}\\:{plugin}:\\\n" for kind in kinds.split(",")
        )
        + "\t:\n"
    )
    return {"GTAGSCONF": str(configured), "GTAGSLABEL": "default"}


def code_index_mcp(desk: Desk) -> Found:
    tool = tools.python("code-index-mcp==2.17.1", desk.cache, 300)
    found = _driven(desk, tool, "code_index.py")
    return Found(version="2.17.1", **found)


def aider(desk: Desk) -> Found:
    if not desk.whole:
        return Found(missing="left out of a quick run: 690 MB of packages, and most of a minute")
    tool = tools.python("aider-chat==0.86.2", desk.cache, 900)
    found = _driven(desk, tool, "aider_map.py")
    return Found(version="0.86.2", **found)


def _driven(desk: Desk, tool: Tool, script: str) -> dict[str, float | int | None]:
    """Measured by a script inside the tool's own environment, in a home and scratch directory of its own."""
    scratch = desk.cache / "peers" / "work" / script.removesuffix(".py")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    env = {**tool.env, "TMPDIR": str(scratch), "HOME": str(scratch), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [tool.program, DRIVERS / script, desk.root, WORD],
        cwd=desk.root, env=env, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Missing(f"its run failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:160]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {**found, "size": disk(scratch) + disk_of_litter(desk.root)}


def disk_of_litter(root: Path) -> int:
    """Bytes a tool left beside the sources."""
    names = corpus.git(root, "ls-files", "-z", "--others").split("\0")
    return sum((root / name).stat().st_size for name in names if name)


def floor(desk: Desk) -> Found:
    parsed, indexed = build.floor(desk.root, desk.cache)
    return Found(index=parsed + indexed, size=disk(desk.cache / "homes" / "floor"))


def bm25(desk: Desk) -> Found:
    import tantivy

    _, indexed = build.floor(desk.root, desk.cache)
    index = tantivy.Index.open(str(desk.cache / "homes" / "floor"))
    searcher = index.searcher()
    query = index.parse_query(WORD, ["body"])
    asked = timed(lambda: searcher.search(query, 10), desk.runs).median
    size = disk(desk.cache / "homes" / "floor")
    return Found(version=re.findall(r"[\d.]+", tantivy.__version__)[0], index=indexed, query=asked, size=size)


MEASURES: dict[str, Callable[[Desk], Found]] = {
    "gitindex": ours,
    "ripgrep": ripgrep,
    "git grep": git_grep,
    "universal-ctags": ctags,
    "GNU global": gnu_global,
    "code-index-mcp": code_index_mcp,
    "aider's repo map": aider,
    "tree-sitter + Tantivy": floor,
    "plain BM25": bm25,
}


def _table(found: dict[str, Found]) -> str:
    lines = [
        f"Corpus: {corpus.DJANGO}; the question is where `{WORD}` stands.",
        "",
        "| tool | index | update after one edit | query | on disk | does | does not |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, peer in found.items():
        does, lacks = ABOUT[name]
        first = f'<a id="{anchor("peers", name)}"></a>{name} {peer.version}'.strip()
        cells = (_seconds(peer.index), _seconds(peer.update), _seconds(peer.query), _size(peer.size))
        shown = f"{peer.missing} | | | " if peer.missing else " | ".join(cells)
        lines.append(f"| {first} | {shown} | {does} | {lacks} |")
    return "\n".join(lines)


def _seconds(value: float | None) -> str:
    return "–" if value is None else "none" if value == 0 else show(value)


def _size(value: int | None) -> str:
    return "–" if value is None else "none" if value == 0 else mebibytes(value)

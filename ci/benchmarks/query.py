"""Queries: cold from the command line, warm in one process, against git grep and ripgrep."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import corpus
from benchmarks.measure import Row, child, environment, gitindex, show, timed

WORDS = ("get_queryset", "middleware", "csrf_token", "prefetch_related", "InlineModelAdmin", "makemigrations")


def run(cache: Path, quick: bool) -> list[Row]:
    runs = 5 if quick else 15
    root = corpus.repository(corpus.DJANGO, cache)
    home = cache / "homes" / "query"
    env = environment(home)
    if not quick or not home.exists():
        shutil.rmtree(home, ignore_errors=True)
    child(gitindex("sync"), root, env)
    corpus.git(root, "status")  # other benchmarks touch files: git notes once that they are as they were
    bare = timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), runs)
    grep = timed(lambda: corpus.git(root, "grep", "-n", "get_queryset"), runs)
    lexical = timed(lambda: child(gitindex("search", "get_queryset", "--mode", "lexical"), root, env), runs)
    hybrid = timed(lambda: child(gitindex("search", "how are migrations squashed"), root, env), runs)
    return [
        Row("cold lexical search", str(lexical), f"git grep {show(grep.median)}", lexical.median / grep.median, 3.0),
        Row(
            "cold lexical search over interpreter start", show(lexical.median - bare.median), "150 ms",
            (lexical.median - bare.median) / 0.150, 1.0,
        ),
        Row("cold hybrid search", str(hybrid), "1 s", hybrid.median, 1.0),
        *_warm(root, home, runs),
    ]  # fmt: skip


def _warm(root: Path, home: Path, runs: int) -> list[Row]:
    """One process, one pinned view, many queries: medians over words and repetitions."""
    from gitindex.config import Environment
    from gitindex.extract.embed.embedders import open_embedder
    from gitindex.ops.codebase import open_codebase
    from gitindex.search.engine import Engine
    from gitindex.search.request import Request
    from gitindex.view.snapshot import open_active

    codebase = open_codebase(root, Environment(home))
    view = open_active(codebase.layout)
    assert view is not None
    bounds = {"lexical": 0.005, "symbol": 0.002, "hybrid": 0.025}
    rows = []
    with view:
        engine = Engine(
            view, codebase.root, codebase.settings.query, lambda: open_embedder(codebase.settings.embedding)
        )
        for mode, bound in bounds.items():
            medians = [
                timed(
                    lambda word=word, mode=mode: engine.search(Request(word, mode=mode)), runs, warm=2
                ).median
                for word in WORDS
            ]
            middle = statistics.median(medians)
            rows.append(Row(f"warm {mode} search, median", show(middle), show(bound), middle / bound, 1.0))
    return rows

"""Retrieval quality as Markdown tables.

Usage: python ci/bench_retrieval.py [--cache DIR] [--no-transformer] [--only NAME…] [--history DIR…]
The tables in docs/benchmarks/retrieval.md come from this; the pools are built from released wheels by script.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from benchmarks import history, pools, retrieval  # noqa: E402
from benchmarks.measure import table  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/gitindex-bench").expanduser())
    parser.add_argument("--no-transformer", action="store_true", help="leave all-MiniLM-L6-v2 out (minutes)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these projects only")
    parser.add_argument("--history", nargs="*", type=Path, default=[HERE.parent], metavar="DIR")
    chosen = parser.parse_args()
    every = {**pools.TUNED, **pools.HELD_OUT}
    projects = {name: specs for name, specs in every.items() if not chosen.only or name in chosen.only}
    transformer = not chosen.no_transformer

    def log(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    scores = retrieval.measure(chosen.cache, projects, transformer=transformer, log=log)
    print(retrieval.tables(scores, transformer=transformer))
    rows = list(retrieval.promises(scores, transformer=transformer)) if not chosen.only else []
    if rows:
        print(table(rows), "\n")
    for root in chosen.history:
        print(history.table(root, chosen.cache))
    return 1 if any(not row.kept for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

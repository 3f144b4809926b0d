"""Train the static table: a query and its code should have the nearest sums of sub-word vectors in the batch.

    python -m ci.train.train CACHE OUTPUT.npz [--epochs 3] [--seed 1]

Symmetric in-batch cross entropy; batches are made of blocks from one package, so that the negatives are near.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from ci.train import bags

DIMENSION, BATCH, BLOCK = 256, 2048, 256
TEMPERATURE, RATE, WARM_UP = 0.05, 2e-2, 0.05
QUERY_TEXTS = {"sentence": 0.75, "paragraph": 0.25}
CODE_TEXTS = {"named": 0.4, "plain": 0.3, "anon": 0.3}


def initial(corpus: bags.Corpus, generator: torch.Generator) -> torch.Tensor:
    """Random directions, as long as the sub-word is rare."""
    idf = np.log(len(corpus.packages) / (1 + corpus.frequency)).clip(min=0.1)
    directions = torch.randn(len(idf), DIMENSION, generator=generator) / DIMENSION**0.5
    return directions * torch.from_numpy(idf).float()[:, None] / 10


def batches(packages: np.ndarray, chance: np.random.Generator) -> Iterator[np.ndarray]:
    """Every pair once, in blocks of one package; what does not fill a block is mixed."""
    order = chance.permutation(len(packages))
    order = order[np.argsort(packages[order], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(packages[order])) + 1)
    blocks, rest = [], []
    for group in groups:
        whole = len(group) // BLOCK * BLOCK
        blocks.extend(np.split(group[:whole], whole // BLOCK) if whole else [])
        rest.append(group[whole:])
    mixed = chance.permutation(np.concatenate(rest))
    blocks.extend(mixed[i : i + BLOCK] for i in range(0, len(mixed) - BLOCK + 1, BLOCK))
    shuffled = [blocks[i] for i in chance.permutation(len(blocks))]
    per_batch = BATCH // BLOCK
    for i in range(0, len(shuffled) - per_batch + 1, per_batch):
        yield np.concatenate(shuffled[i : i + per_batch])


def draw(
    corpus: bags.Corpus, pairs: np.ndarray, shares: dict[str, float], chance: np.random.Generator
) -> csr_array:
    """One text of each pair, its kind drawn by share, as a sparse matrix (pairs × rows of the table)."""
    kinds = chance.choice(list(shares), len(pairs), p=list(shares.values()))
    spans = [corpus.texts[kind].span(pair) for kind, pair in zip(kinds, pairs, strict=True)]
    rows = np.concatenate([rows for rows, _ in spans]).astype(np.int32)
    weights = (1 + np.log(np.concatenate([counts for _, counts in spans]))).astype(np.float32)
    starts = np.cumsum([0, *(len(rows) for rows, _ in spans)])
    return csr_array((weights, rows, starts), shape=(len(pairs), len(corpus.frequency)))


def only(used: np.ndarray, bag: csr_array) -> csr_array:
    """The same bag over the rows in use."""
    return csr_array(
        (bag.data, np.searchsorted(used, bag.indices), bag.indptr), shape=(bag.shape[0], len(used))
    )


class Sum(torch.autograd.Function):
    """Weighted sums of rows; scipy's product is several times faster here than EmbeddingBag's backward pass."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, weights: csr_array) -> torch.Tensor:
        ctx.weights = weights
        return torch.from_numpy(weights @ rows.detach().numpy())

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.from_numpy(ctx.weights.T @ gradient.numpy()), None


def loss_of(rows: torch.Tensor, query: csr_array, code: csr_array) -> torch.Tensor:
    asked, found = (torch.nn.functional.normalize(Sum.apply(rows, bag)) for bag in (query, code))
    scores = asked @ found.T / TEMPERATURE
    right = torch.arange(len(scores))
    entropy = torch.nn.functional.cross_entropy
    return (entropy(scores, right) + entropy(scores.T, right)) / 2


class Adam:
    """Adam that touches only the rows of the batch: a rare word keeps its moments until it is seen again."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table, self.first, self.second = table, torch.zeros_like(table), torch.zeros_like(table)
        self.steps = 0

    def step(self, used: torch.Tensor, gradient: torch.Tensor, rate: float) -> None:
        self.steps += 1
        first = self.first[used].lerp_(gradient, 0.1)
        second = self.second[used].lerp_(gradient * gradient, 0.001)
        self.first[used], self.second[used] = first, second
        spread = (second / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
        self.table[used] -= rate / (1 - 0.9**self.steps) * first / spread


def train(corpus: bags.Corpus, epochs: int, seed: int) -> np.ndarray:
    chance = np.random.default_rng(seed)
    table = initial(corpus, torch.Generator().manual_seed(seed))
    adam = Adam(table)
    steps = epochs * sum(1 for _ in batches(corpus.packages, np.random.default_rng(seed)))
    begun = time.perf_counter()
    for _ in range(epochs):
        for pairs in batches(corpus.packages, chance):
            query, code = (draw(corpus, pairs, shares, chance) for shares in (QUERY_TEXTS, CODE_TEXTS))
            used = np.union1d(query.indices, code.indices)
            rows = table[torch.from_numpy(used)].requires_grad_()
            loss = loss_of(rows, only(used, query), only(used, code))
            loss.backward()
            adam.step(torch.from_numpy(used), rows.grad, RATE * _share(adam.steps, steps))
            if adam.steps % 20 == 0:
                seconds = time.perf_counter() - begun
                print(f"step {adam.steps}/{steps} loss {loss.item():.3f} {seconds:.0f} s", flush=True)
    return table.numpy()


def _share(step: int, steps: int) -> float:
    warm = max(1, int(WARM_UP * steps))
    return min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm)))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("cache", type=Path)
    arguments.add_argument("output", type=Path)
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    torch.manual_seed(given.seed)
    corpus = bags.load(given.cache / "pairs.jsonl")
    print(f"{len(corpus.packages)} pairs, {len(corpus.words)} sub-words", flush=True)
    table = train(corpus, given.epochs, given.seed)
    np.savez(given.output, table=table, words=np.array("\n".join(corpus.words)), buckets=bags.BUCKETS)


if __name__ == "__main__":
    main()

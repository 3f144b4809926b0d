"""Questions and issues about public repositories: any data in the form of semble's benchmark and of SWE-bench.

Questions are a JSON list of repositories, each with `name`, `language`, `url`, `revision`, `benchmark_root` and
`queries` (`query`, `relevant`, `secondary`, `category`); issues are JSON lines with `repo`, `base_commit`, `issue` and
`files`. Bare clones stand as OWNER+NAME/repo below one folder. What is asked is what a user asks: default settings, ten
results; of issues `--files`, the whole text pasted, fifty results.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpus import git
from benchmarks.measure import Row
from gitindex.config import Environment
from gitindex.ops.answers.search_answer import query
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.hit import Hit
from gitindex.search.request import Request

DEPTH, ISSUE_DEPTH = 10, 50
CUTS = (1, 5, 10, 50)
LOST = 0.5  # a question below is listed


class Answered(NamedTuple):
    """One question and how well it was answered."""

    repository: str
    language: str
    kind: str
    text: str
    gain: float
    first: tuple[str, ...]  # paths of the first results


class Located(NamedTuple):
    """One issue and where the last of its files stands, None when it is missing."""

    name: str
    rank: int | None
    empty: bool


def run(cache: Path, mirror: Path, questions: Path | None, issues: Path | None, every: int) -> list[Row]:
    rows: list[Row] = []
    if questions is not None:
        answered = list(ask_questions(json.loads(questions.read_text("utf-8")), mirror, cache / "public"))
        print(question_tables(answered), flush=True)
        rows.append(Row("questions: NDCG@10", f"{mean_of_repositories(answered):.4f}", "", None, None))
    if issues is not None:
        lines = [json.loads(line) for line in issues.read_text("utf-8").splitlines()]
        located = list(locate_issues(lines, mirror, cache / "public", every))
        print(issue_table(located), flush=True)
        rows += [Row(f"issues: all files in the first {cut}", f"{share_within(located, cut):.1f} %", "", None, None)
                 for cut in CUTS]  # fmt: skip
    return rows


def ask_questions(specs: Sequence[Mapping[str, Any]], mirror: Path, work: Path) -> Iterator[Answered]:
    for spec in specs:
        root = check_out(spec, mirror, work / "trees")
        if root is None:
            print(f"{spec['name']}: no clone with {spec['revision'][:10]} below {mirror}", flush=True)
            continue
        codebase = open_codebase(root, Environment(work / "home"))
        sync(codebase)
        found = [answer_question(codebase, spec, asked) for asked in spec["queries"]]
        print(f"{spec['name']}: {sum(item.gain for item in found) / len(found):.3f}", flush=True)
        yield from found


def answer_question(codebase: Codebase, spec: Mapping[str, Any], asked: Mapping[str, Any]) -> Answered:
    hits = query(codebase, Request(asked["query"], limit=DEPTH)).result.hits
    targets = [*asked["relevant"], *asked.get("secondary", ())]
    first = tuple(hit.path for hit in hits[:3])
    kind = asked.get("category") or ("symbol" if " " not in asked["query"].strip() else "semantic")
    return Answered(spec["name"], spec["language"], kind, asked["query"], score_hits(hits, targets), first)


def score_hits(hits: Sequence[Hit], targets: Sequence[Any]) -> float:
    """NDCG@10 with one relevance per target, at the first result that covers it."""
    ranks = {
        next((at for at, hit in enumerate(hits[:DEPTH]) if covers(hit, target)), None) for target in targets
    }
    ideal = sum(1 / math.log2(at + 2) for at in range(min(DEPTH, len(targets))))
    return sum(1 / math.log2(at + 2) for at in ranks if at is not None) / ideal if ideal else 0.0


def covers(hit: Hit, target: Any) -> bool:
    """One path ends like the other, and lines touch where the target names lines."""
    wanted = target if isinstance(target, str) else target["path"]
    alike = f"/{wanted}".endswith(f"/{hit.path}") or f"/{hit.path}".endswith(f"/{wanted}")
    if not alike or isinstance(target, str) or target.get("start_line") is None:
        return alike
    return bool(hit.start_line <= target["end_line"] and target["start_line"] <= hit.end_line)


def locate_issues(
    lines: Sequence[Mapping[str, Any]], mirror: Path, work: Path, every: int
) -> Iterator[Located]:
    for name in sorted({line["repo"] for line in lines}):
        source = find_clone(mirror, name)
        if source is None:
            print(f"{name}: no clone below {mirror}", flush=True)
            continue
        tree = work / "issues" / name.replace("/", "+")
        if not tree.exists():
            git(source, "clone", "-q", "--shared", "--no-checkout", str(source), str(tree))
        for line in [line for line in lines if line["repo"] == name][::every]:
            git(tree, "checkout", "-q", "-f", line["base_commit"])
            codebase = open_codebase(tree, Environment(work / "home"))
            sync(codebase, SyncOptions(commit_only=True))
            hits = query(codebase, Request(line["issue"], limit=ISSUE_DEPTH, files=True)).result.hits
            paths = [hit.path for hit in hits]
            known = all(path in paths for path in line["files"])
            rank = max(paths.index(path) for path in line["files"]) + 1 if known else None
            yield Located(line["id"], rank, not paths)


def check_out(spec: Mapping[str, Any], mirror: Path, trees: Path) -> Path | None:
    """The part of the repository that is asked about, as a repository of its own."""
    source = find_clone(mirror, spec["url"].removeprefix("https://github.com/").removesuffix(".git"))
    target = trees / spec["name"]
    if source is None or not _has_commit(source, spec["revision"]):
        return None
    if not (target / ".git").exists():
        root = spec.get("benchmark_root") or "."
        depth = 0 if root == "." else len(Path(root).parts)
        target.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(
            ["git", "-C", str(source), "archive", spec["revision"], root], capture_output=True, check=True
        )
        subprocess.run(
            ["tar", "x", "-C", str(target), f"--strip-components={depth}"], input=packed.stdout, check=True
        )
        git(target, "init", "-q")
        git(target, "add", "-A", "-f")
        git(target, "commit", "-q", "-m", "tree")
    return target


def find_clone(mirror: Path, name: str) -> Path | None:
    path = mirror / name.replace("/", "+") / "repo"
    return path if path.is_dir() else None


def _has_commit(source: Path, revision: str) -> bool:
    asked = ["git", "-C", str(source), "cat-file", "-e", f"{revision}^{{commit}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


# -- reports ------------------------------------------------------------------------------------------


def mean_of_repositories(answered: Sequence[Answered]) -> float:
    means = [mean for _, mean, _ in group_means(answered, "repository")]
    return sum(means) / max(1, len(means))


def group_means(answered: Sequence[Answered], field: str) -> list[tuple[str, float, int]]:
    """Each group with the mean of its questions and their number, the worst first."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in answered:
        groups[getattr(item, field)].append(item.gain)
    return sorted(
        ((name, sum(v) / len(v), len(v)) for name, v in groups.items()), key=lambda row: (row[1], row[0])
    )


def question_tables(answered: Sequence[Answered]) -> str:
    lines = ["| questions | | NDCG@10 | number |", "|---|---|---|---|"]
    for field in ("repository", "language", "kind"):
        lines += [
            f"| {name} | {field} | {mean:.3f} | {count} |"
            for name, mean, count in group_means(answered, field)
        ]
    lines.append(
        f"| **all** | mean of repositories | **{mean_of_repositories(answered):.4f}** | {len(answered)} |"
    )
    lost = sorted(item for item in answered if item.gain < LOST)
    rows = [
        f"| {item.repository} | {item.text} | {item.gain:.2f} | {', '.join(item.first)} |" for item in lost
    ]
    return "\n".join(
        [*lines, "", f"| lost (below {LOST}) | question | NDCG@10 | first |", "|---|---|---|---|", *rows]
    )


def share_within(located: Sequence[Located], cut: int) -> float:
    """Per cent of the issues with all files among the first so many."""
    within = sum(item.rank is not None and item.rank <= cut for item in located)
    return 100 * within / max(1, len(located))


def issue_table(located: Sequence[Located]) -> str:
    shares = " | ".join(f"{share_within(located, cut):.1f}" for cut in CUTS)
    lines = [
        f"| issues | empty | {' | '.join(f'@{cut}' for cut in CUTS)} |",
        "|---|---|" + "---|" * len(CUTS),
        f"| {len(located)} | {sum(item.empty for item in located)} | {shares} |",
        "",
        "| lost (not all files in the first 10) | rank of the last |",
        "|---|---|",
    ]
    lost = [item for item in located if item.rank is None or item.rank > DEPTH]
    return "\n".join(
        [*lines, *(f"| {item.name} | {item.rank or f'beyond {ISSUE_DEPTH}'} |" for item in lost)]
    )

"""Exact facts at Django's size: import against decoding, memory, bytes per occurrence, find-references with deltas."""

from __future__ import annotations

import json
import random
import resource
import shutil
import sys
import time
from pathlib import Path

from benchmarks import corpus
from benchmarks.measure import Row, alone, child, environment, gitindex, show
from benchmarks.recording import recorded

DELTAS = 20
DELTA_FILES = 20
STATE_FILES = 10_000


def run(cache: Path, quick: bool) -> list[Row]:
    root = corpus.repository(corpus.DJANGO, cache)
    index = recorded(root, cache).path
    home = cache / "homes" / "semantic"
    pairs = []
    for _ in range(1 if quick else 3):  # each import into an index that has none
        shutil.rmtree(home, ignore_errors=True)
        child(gitindex("sync", "--json"), root, environment(home))
        pairs.append((_measure("decode", root, home, index), _measure("import", root, home, index)))
    pairs.sort(key=lambda pair: pair[1]["seconds"] / pair[0]["seconds"])
    plain, first = pairs[len(pairs) // 2]
    placed = _measure("place", root, home, index)
    again = _measure("import", root, home, index)
    samples = "300" if quick else "2000"
    alone = _measure("refs", root, home, index, samples)
    deltas = _measure("deltas", root, home, index)
    layered = _measure("refs", root, home, index, samples)
    states = _measure("states", root, home, index)
    size = first["bytes"] / first["occurrences"]
    return [
        _against("import", "seconds", first, plain, "decoding", 2.0),
        _against("import, CPU of both processes", "cpu", first, plain, "decoding", None),
        _against("import, CPU of both processes", "cpu", first, placed, "decoding and checking", None),
        Row(
            "import of the same again", show(again["seconds"]), f"{again['written']} rows written", None, None
        ),
        Row("occurrences", f"{first['occurrences']:,}", "700,000", 7e5 / first["occurrences"], 1.0),
        Row(
            "peak memory of the import, both processes",
            f"{first['memory'] / 2**20:.0f} MiB",
            "600 MB",
            first["memory"] / 6e8,
            1.0,
        ),
        Row("storage per occurrence", f"{size:.1f} B", "25 B", size / 25, 1.0),
        Row("find references, p95", show(alone["p95"]), "5 ms", alone["p95"] / 0.005, 1.0, _tail(alone)),
        Row(
            f"find references, p95, {deltas['segments']} delta segments",
            show(layered["p95"]),
            "5 ms",
            layered["p95"] / 0.005,
            1.0,
            _tail(layered),
        ),
        Row(
            f"state of {STATE_FILES:,} files in one cycle",
            show(states["seconds"]),
            "1 s",
            states["seconds"],
            1.0,
            f"dependencies of {states['documents']:,} documents read in {show(states['dependencies'])}",
        ),
    ]


def _against(name: str, key: str, measured: dict, base: dict, called: str, bound: float | None) -> Row:
    ratio = measured[key] / base[key]
    return Row(name, show(measured[key]), f"{called} {show(base[key])}", ratio, bound)


def _tail(found: dict) -> str:
    return f"p50 {show(found['p50'])}, hottest {found['hottest']:,} in {show(found['hottest_seconds'])}"


def _measure(what: str, root: Path, home: Path, index: Path, *more: str) -> dict:
    return alone("semantic", root, home, what, root, index, *more)


# -- inside the measuring process ------------------------------------------------------------------------


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _clock() -> tuple[float, float]:
    """Seconds on the wall, and of CPU in this process and those that ended."""
    return time.perf_counter(), sum(sum(resource.getrusage(who)[:2]) for who in _PROCESSES)


def _spent(started: tuple[float, float]) -> dict[str, float]:
    seconds, cpu = _clock()
    return {"seconds": seconds - started[0], "cpu": cpu - started[1]}


def _opened(root: Path):
    from gitindex.config import load_environment as ours
    from gitindex.git.repo import read_head
    from gitindex.ops.codebase import open_codebase
    from gitindex.ops.exact.refresh import RefreshOptions, make_indexer_environment
    from gitindex.semantic.refresher import Refresher

    codebase = open_codebase(root, ours())
    at = read_head(codebase.repo)
    bench = make_indexer_environment(codebase, RefreshOptions())
    made = Refresher(codebase.layout, codebase.repo, at.commit, at.tree, bench, lambda: at.commit, time.time)
    return codebase, made


def _source(made, index: Path, scope=None):
    from gitindex.semantic.checkout import BlobReader
    from gitindex.semantic.importer import ImportSource

    context = max((c for c in made.contexts() if c.language == "python"), key=lambda c: len(c.files))
    owned = {path: made._blobs[path] for path in context.files}
    about = {"tool": "scip-python", "version": "0.6.6", "commit": made.commit, "inputs": ""}
    return ImportSource(
        index, "", context, owned, BlobReader(owned, made.objects, 10**7), scope, about, repo=made.repo
    )


def _index(root: Path, target: Path) -> dict:
    from gitindex.semantic import checkout, indexer_run
    from gitindex.semantic.indexers.registry import indexer_for

    _, made = _opened(root)
    with made:
        context = max((c for c in made.contexts() if c.language == "python"), key=lambda c: len(c.files))
        work = target.parent / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        copy = checkout.check_out(made.objects, made.tree, work / "checkout", max_bytes=10**7)
        done = indexer_run.index(
            indexer_for("python"), made._describe_run(context, copy, work), made.settings
        )
        done.output.rename(target)
        shutil.rmtree(work)
    return {"seconds": done.seconds}


def _decode(_root: Path, index: Path) -> dict:
    """Read every document and touch every field of every occurrence, nothing else."""
    from gitindex.scip.reader import IndexFile

    started = _clock()
    count = 0
    with IndexFile(index) as file:
        for document in file.documents():
            for item in document.occurrences:
                _ = (tuple(item.range), item.symbol, item.symbol_roles, tuple(item.enclosing_range))
                count += 1
            for info in document.symbols:
                _ = (info.symbol, tuple(info.documentation), len(info.relationships))
    return {**_spent(started), "occurrences": count}


def _place(root: Path, index: Path) -> dict:
    """What an import decodes: every occurrence placed in its file's text and weighed against its symbol."""
    from gitindex.scip.reader import IndexFile
    from gitindex.semantic.decode import DecodedIndex

    _, made = _opened(root)
    with made:
        source = _source(made, index)
        started = _clock()
        with IndexFile(index) as file:
            count = sum(len(doc.occurrences) for doc in DecodedIndex(file, source.read).documents())
    return {**_spent(started), "occurrences": count}


def _import(root: Path, index: Path) -> dict:
    from gitindex.semantic.importer import import_documents

    codebase, made = _opened(root)
    with made:
        source = _source(made, index)
        started = _clock()
        done = import_documents(codebase.layout, source, lambda: None)
        spent = _spent(started)
    files = codebase.layout.segments.glob("*/scip.sqlite")
    return {
        **spent,
        "occurrences": done.occurrences,
        "written": done.written,
        "bytes": sum(path.stat().st_size for path in files),
        "memory": sum(resource.getrusage(who).ru_maxrss * 1024 for who in _PROCESSES),
    }


def _deltas(root: Path, index: Path) -> dict:
    """Twenty refreshes that each change twenty documents a little."""
    from gitindex.scip import schema
    from gitindex.scip.reader import IndexFile
    from gitindex.semantic.importer import import_documents
    from gitindex.semantic.refresh_scope import canonical_scope

    codebase, made = _opened(root)
    with made:
        known = set(_source(made, index).blobs)
        with IndexFile(index) as file:
            some = [
                doc for doc in file.documents() if doc.relative_path in known and len(doc.occurrences) > 9
            ]
        random.Random(7).shuffle(some)
        written = []
        for number in range(DELTAS):
            part = some[number * DELTA_FILES : (number + 1) * DELTA_FILES]
            for document in part:
                del document.occurrences[-1]
            message = schema.plain_messages().Index(documents=part)
            message.metadata.tool_info.name = "scip-python"
            small = index.with_suffix(".delta")
            small.write_bytes(message.SerializeToString())
            files = tuple(document.relative_path for document in part)
            done = import_documents(
                codebase.layout, _source(made, small, canonical_scope(files=files)), lambda: None
            )
            written.append(done.written)
    return {"segments": DELTAS, "written": written}


def _refs(root: Path, _index: Path, samples: str) -> dict:
    from gitindex.view.snapshot import open_active

    codebase, _ = _opened(root)
    with open_active(codebase.layout) as view:
        scip = view.scip
        sizes = {value: len(packed) for value, packed in scip._facts[0].symbols()}
        known = [value for value, size in sizes.items() if size > 15]  # four places or more
        chosen = random.Random(1).sample(known, int(samples))
        for value in chosen:  # warm: pages, coverage of files
            list(scip.positions(value))
        times = []
        for value in chosen:
            started = time.perf_counter()
            list(scip.positions(value))
            times.append(time.perf_counter() - started)
        times.sort()
        hottest = max(sizes, key=sizes.__getitem__)
        list(scip.positions(hottest))
        started = time.perf_counter()
        found = len(list(scip.positions(hottest)))
        spent = time.perf_counter() - started
    return {
        "p50": times[len(times) // 2],
        "p95": times[int(len(times) * 0.95)],
        "hottest": found,
        "hottest_seconds": spent,
    }


def _states(root: Path, _index: Path) -> dict:
    """Every file depends on the next and on one far away; one of them changed its interface, so all are stale."""
    from gitindex.semantic.file_state import DependencyGraph, FileFacts
    from gitindex.view.snapshot import open_active

    names = [f"src/file{number}.py" for number in range(STATE_FILES)]
    facts = dict.fromkeys(names, FileFacts("h", "h")) | {names[0]: FileFacts("new", "old", "i2", "i1")}
    depends = {
        name: [names[(at + 1) % STATE_FILES], names[at * 7 % STATE_FILES]] for at, name in enumerate(names)
    }
    started = _clock()
    found = DependencyGraph(facts, depends).file_states(names)
    spent = _spent(started)
    assert sum(state.freshness == "stale" for state in found.values()) == STATE_FILES - 1
    codebase, _ = _opened(root)
    with open_active(codebase.layout) as view:
        started = _clock()
        documents = len(view.scip.dependencies())
        read = _spent(started)
    return {**spent, "documents": documents, "dependencies": read["seconds"]}


if __name__ == "__main__":
    verbs = {
        "index": _index,
        "decode": _decode,
        "place": _place,
        "import": _import,
        "deltas": _deltas,
        "refs": _refs,
        "states": _states,
    }
    what, where, index_file, *rest = sys.argv[1:]
    print(json.dumps(verbs[what](Path(where), Path(index_file), *rest)))

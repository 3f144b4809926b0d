"""Combines lexical indexes of disjoint paths into one, without indexing anything again (RE-8).

A Tantivy segment is self-contained and has a random name; `meta.json` lists the segments of an index. The union of such
lists, for the same schema, is an index of all their documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gitindex.errors import IntegrityError
from gitindex.segment.lexical_index import REWRITTEN_FILES, list_files

LinkFile = Callable[[Path, Path], object]


def unite(sources: Sequence[Path], target: Path, link: LinkFile) -> list[tuple[Path, Path]]:
    """Make `target` the union of `sources`; returns (source, linked file) pairs.

    Raises IntegrityError when the schemas differ, or when two indexes have a segment in common.
    """
    target.mkdir(parents=True)
    metas = [json.loads((source / "meta.json").read_bytes()) for source in sources]
    segments = [segment for meta in metas for segment in meta["segments"]]
    same_schema = len({_schema_key(meta) for meta in metas}) == 1
    distinct_ids = {segment["segment_id"] for segment in segments}
    if not same_schema or len(distinct_ids) != len(segments):
        raise IntegrityError("these lexical indexes cannot be one", hint="gitindex build --full")
    pairs = [
        (path, target / path.name)
        for source in sources
        for path in list_files(source)
        if path.name not in REWRITTEN_FILES
    ]
    for path, copy in pairs:
        link(path, copy)
    union_meta = {**metas[0], "segments": segments, "opstamp": max(meta["opstamp"] for meta in metas)}
    (target / "meta.json").write_text(json.dumps(union_meta))
    managed = ["meta.json", *(copy.name for _, copy in pairs)]
    (target / ".managed.json").write_text(json.dumps(sorted(managed)))
    return pairs


def _schema_key(meta: dict[str, Any]) -> str:
    return json.dumps([meta.get("index_settings"), meta["schema"]], sort_keys=True)

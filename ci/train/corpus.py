"""The training corpus: download the listed packages, keep the permissive ones, write documented code as JSON lines.

    python -m ci.train.corpus CACHE

Reads packages.txt beside this file; writes CACHE/pairs.jsonl and CACHE/sources.json (package, version, licence, pairs).
Held-out projects never enter: not by name, not as a vendored copy, not as a function with the same code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePosixPath

from ci.train.licences import npm_licence, python_licence
from ci.train.pairs import LANGUAGES, Pair, comment_pairs, definitions, python_pairs, sentence
from gitindex.extract.tokens import subwords

PACKAGES = Path(__file__).with_name("packages.txt")
HELD_OUT = (
    "django==6.1.3", "scikit-learn==1.9.1", "sqlalchemy==2.1.8", "sympy==1.14.0", "requests==2.34.2", "rich==15.0.0",
    "flask==3.1.3", "click==8.5.1", "pydantic==2.14.3", "attrs==26.1.0", "httpx==0.28.1", "celery==5.7.0",
    "networkx==3.7",
)  # fmt: skip
_HELD_DIRECTORIES = {"django", "sklearn", "sqlalchemy", "sympy", "requests", "rich", "flask", "click", "pydantic",
                     "pydantic_v1", "attr", "attrs", "httpx", "celery", "networkx"}  # fmt: skip
_VENDORED = re.compile(
    r"(^|/)(_?vendor(ed)?|_?externals?|extern|third_?party|node_modules|site-packages)/|_vendor"
)
_TESTS = re.compile(r"(^|/)(tests?|testing|__tests__|testdata|spec)/|(^|/)(test_|conftest)|[._](test|spec)\.")
_GENERATED = re.compile(r"\.min\.|_pb2|\.bundle\.|(^|/)(umd|min|bundles)/.*\.c?js$")
MAX_FILE, MAX_FILES = 150_000, 250  # so that one huge generated client does not outweigh fifty libraries
SAME_SENTENCE = 3
_METADATA = re.compile(r"^package\.json$|^[^/]+\.dist-info/METADATA$")
_PLATFORM = ["--python-version", "3.12", "--implementation", "cp", "--platform", "manylinux_2_28_x86_64",
             "--platform", "manylinux2014_x86_64"]  # fmt: skip


def specs() -> list[str]:
    lines = (line.split("#")[0].strip() for line in PACKAGES.read_text().splitlines())
    return [line for line in lines if line]


def fetch(spec: str, cache: Path) -> Path:
    """`name==version` is a wheel, `npm:name==version` an npm tarball; each in a folder of its own."""
    folder = cache / "packages" / re.sub(r"[^\w.=-]", "_", spec)
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        subprocess.run(_download(spec), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.iterdir())


def _download(spec: str) -> list[str]:
    kind, _, pinned = spec.rpartition(":")
    if kind == "npm":
        return ["npm", "pack", "--silent", "@".join(pinned.rsplit("==", 1))]
    wheel = ["--no-deps", "--only-binary=:all:", *_PLATFORM]  # a source archive would run its build script
    return [sys.executable, "-m", "pip", "download", "--quiet", *wheel, "--dest", ".", pinned]


def members(archive: Path, largest: int = MAX_FILE) -> dict[str, Callable[[], bytes]]:
    """The files of a wheel or an npm tarball, by path, each with its reader."""
    if archive.suffix == ".whl":
        wheel = zipfile.ZipFile(archive)
        small = (info for info in wheel.infolist() if info.file_size <= largest)
        return {info.filename: partial(wheel.read, info) for info in small}
    tarball = tarfile.open(archive)  # noqa: SIM115 (the readers outlive this function)
    files = (member for member in tarball.getmembers() if member.isfile() and member.size <= largest)
    return {member.name.partition("/")[2]: partial(_read, tarball, member) for member in files}


def _read(tarball: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tarball.extractfile(member)
    assert stream is not None
    return stream.read()


def _text(read: Callable[[], bytes]) -> str:
    return read().decode(errors="replace")


def is_source(path: str) -> bool:
    """Hand-written source that is neither a test nor somebody else's."""
    known = PurePosixPath(path).suffix in (".py", *LANGUAGES) and not path.endswith(".d.ts")
    foreign = path.split("/")[0] in _HELD_DIRECTORIES
    return known and not foreign and not any(rule.search(path) for rule in (_VENDORED, _TESTS, _GENERATED))


def licence_of(path: str, text: str) -> str | None:
    if path == "package.json":
        return npm_licence(text)
    return python_licence(text)


def pairs_of(path: str, source: str) -> Iterator[Pair]:
    language = LANGUAGES.get(PurePosixPath(path).suffix)
    if language is None:
        yield from python_pairs(path, source)
    elif ("/**" in source or "//" in source) and max(map(len, source.split("\n"))) < 2000:
        yield from comment_pairs(path, source, language)


def worth_keeping(pair: Pair) -> bool:
    """A real sentence and a body with something in it."""
    return len(pair.code) >= 60 and pair.doc.isascii() and len(subwords(sentence(pair.doc))) >= 3


def digest(code: str) -> str:
    return hashlib.blake2b(re.sub(r"\s+", "", code).encode(), digest_size=12).hexdigest()


def held_out_digests(cache: Path) -> set[str]:
    digests = set()
    for spec in HELD_OUT:
        for path, read in members(fetch(spec, cache), sys.maxsize).items():
            if path.endswith(".py"):
                digests |= {digest(pair.code) for pair, _ in definitions(path, _text(read))}
    return digests


def read_package(archive: Path) -> tuple[str | None, list[Pair]]:
    """The package's permissive licence (or None, then no pairs) and its documented code."""
    files = members(archive)
    declared = [path for path in files if _METADATA.search(path)]
    licence = next(filter(None, (licence_of(path, _text(files[path])) for path in declared)), None)
    if licence is None:
        return None, []
    chosen = spread(sorted(filter(is_source, files)))
    found = (pair for path in chosen for pair in pairs_of(path, _text(files[path])))
    return licence, [pair for pair in found if worth_keeping(pair)]


def spread(paths: list[str]) -> list[str]:
    """An even sample of a package that has too many files."""
    step = max(1.0, len(paths) / MAX_FILES)
    return [paths[int(i * step)] for i in range(min(len(paths), MAX_FILES))]


def build(cache: Path) -> None:
    wanted = specs()
    with ThreadPoolExecutor(4) as pool:
        archives = list(pool.map(partial(fetch, cache=cache), wanted))
    seen, sentences, sources = held_out_digests(cache), Counter[str](), []
    with (cache / "pairs.jsonl").open("w") as out, ProcessPoolExecutor() as pool:
        for spec, (licence, pairs) in zip(wanted, pool.map(read_package, archives), strict=True):
            written = 0
            for pair in pairs:
                key, asked = digest(pair.code), sentence(pair.doc).lower()
                if key in seen or sentences[asked] >= SAME_SENTENCE:
                    continue
                seen.add(key)
                sentences[asked] += 1
                written += 1
                out.write(json.dumps({"package": spec, **asdict(pair)}) + "\n")
            sources.append({"package": spec, "licence": licence, "pairs": written})
            print(f"{spec}: {licence or 'not permissive, skipped'}, {written} pairs", flush=True)
    (cache / "sources.json").write_text(json.dumps(sources, indent=1))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("cache", type=Path)
    build(arguments.parse_args().cache)


if __name__ == "__main__":
    main()

"""The compiled loops: built where there is a compiler, the same answers as without them, and no byte out of bounds."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex import extract as package
from gitindex.extract import calls, cuts, identifiers, native, words
from gitindex.extract.extractor import extract
from gitindex.extract.nesting import SymbolRange
from gitindex.extract.source_text import SourceText
from gitindex.model.settings import IndexSettings
from tests.extract.facts import SAMPLES
from tests.house.graph import REPOSITORY

LINKER = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc")[0]
compiler = pytest.mark.skipif(shutil.which(LINKER) is None, reason="no C compiler here")
CAMPAIGN = Path(__file__).with_name("native_campaign.py")
SOURCE = REPOSITORY / "gitindex" / "extract" / "scan"


def build() -> ModuleType:
    """`ci/native.py`, whose base class only a build environment has."""
    hook = ModuleType("hook")
    hook.BuildHookInterface = object  # type: ignore[attr-defined]
    name = "hatchling.builders.hooks.plugin.interface"
    kept = {part: sys.modules.get(part) for part in (name,)}
    sys.modules[name] = hook
    try:
        spec = importlib.util.spec_from_file_location("native_build", REPOSITORY / "ci" / "native.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for part, before in kept.items():
            sys.modules.pop(part)
            if before is not None:
                sys.modules[part] = before
    return module


@compiler
def test_an_installation_with_a_compiler_has_them() -> None:
    assert native.scan is not None


def test_those_of_another_version_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_scan", SimpleNamespace(VERSION=0), raising=False)
    assert native._load() is None


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_language_is_read_alike_without_them(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = extract(sample.name, sample.read_bytes(), IndexSettings())
    for module in (calls, cuts, identifiers, words):
        monkeypatch.setattr(module, "scan", None)
    plain = extract(sample.name, sample.read_bytes(), IndexSettings())
    assert found._replace(chunks=()) == plain._replace(chunks=())
    for ours, theirs in zip(found.chunks, plain.chunks, strict=True):
        assert (ours.terms.split(), ours.idents.split()) == (theirs.terms.split(), theirs.idents.split())
        assert ours._replace(terms="", idents="") == theirs._replace(terms="", idents="")


class Stretch(SimpleNamespace):
    start_byte: int
    end_byte: int


@compiler
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.text("ab_1 é😀\n\t'", max_size=80) | st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90), st.booleans()), max_size=6),
)
def test_identifiers_are_those_of_the_arrays(text: str, stretches: list[tuple[int, int, bool]]) -> None:
    source = SourceText(text.encode("utf-8", "replace"))
    size = len(source.data)
    nodes = [
        (Stretch(start_byte=min(a, b, size), end_byte=min(max(a, b), size)), hide) for a, b, hide in stretches
    ]
    hidden = [node for node, hide in nodes if hide]
    shown = [node for node, hide in nodes if not hide]
    asked = (source, hidden, shown, frozenset({b"a", b"ab"}))
    found = identifiers.group_unmasked(*asked)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(identifiers, "scan", None)
        assert identifiers.group_unmasked(*asked) == found  # type: ignore[arg-type]


@compiler
@settings(deadline=None, max_examples=500, suppress_health_check=list(HealthCheck))
@given(
    st.text("aé \t\r\n", max_size=400),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=12),
    st.integers(-1, 60),
)
def test_cuts_are_those_of_the_plain_rule(text: str, pairs: list[tuple[int, int]], target: int) -> None:
    source = SourceText((text + " " * 230 + "x\n" + text).encode())
    last = len(source.starts) - 1
    extents = [(min(a, b, last), min(max(a, b), last)) for a, b in pairs]
    found = list(cuts.cut_spans(source, extents, target))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cuts, "scan", None)
        assert list(cuts.cut_spans(source, extents, target)) == found


class Invocation(Stretch):
    name: Stretch

    def child_by_field_name(self, field: str) -> Stretch | None:
        return self.name if field == "name" else None


@compiler
@settings(deadline=None, max_examples=500, suppress_health_check=list(HealthCheck))
@given(
    st.text("ab_1$é😀.:?! ()<>\n\t\x1c\x00", max_size=120),
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 150), st.booleans()), max_size=8),
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 150)), max_size=5),
)
def test_calls_are_those_of_the_plain_rule(
    text: str, places: list[tuple[int, int, bool]], around: list[tuple[int, int]]
) -> None:
    source = SourceText(text.encode())
    size = len(source.data)
    plain, invocations = [], []
    for a, b, simple in places:
        begin, end = min(a, b, size), min(max(a, b), size)
        if simple:
            plain.append(Stretch(start_byte=begin, end_byte=end))
        else:
            middle = (begin + end) // 2
            name = Stretch(start_byte=middle, end_byte=end)
            invocations.append(Invocation(start_byte=begin, end_byte=end, name=name))
    owners = tuple(SymbolRange(min(a, b), max(a, b), index) for index, (a, b) in enumerate(sorted(around)))
    asked = (source, plain, invocations, owners)
    found = calls.find_calls(*asked)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(calls, "scan", None)
        assert calls.find_calls(*asked) == found  # type: ignore[arg-type]


@compiler
@pytest.mark.parametrize("extents", [[(0, 3)], [(-1, 1)], [(1, -2)]])
def test_a_definition_outside_the_data_is_refused(extents: list[tuple[int, int]]) -> None:
    assert native.scan is not None
    with pytest.raises(ValueError, match="outside"):
        native.scan.spans(b"a\nb\nc", extents, 9, 13, 1, 200, 1000)


@compiler
@pytest.mark.parametrize("site", [(0, 4, 0), (2, 1, 0), (-1, 1, 0), (1, 2, 9)])
def test_a_call_outside_the_data_is_refused(site: tuple[int, int, int]) -> None:
    assert native.scan is not None
    with pytest.raises(ValueError, match="outside"):
        native.scan.calls(b"abc", [], [site], (), 400, lambda _: None, 80, 320, bytes.decode)


@compiler
@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (3, 2), (0, 9)])
def test_a_node_outside_the_data_is_refused(begin: int, end: int) -> None:
    assert native.scan is not None
    with pytest.raises(ValueError, match="outside"):
        native.scan.names(b"abc", [Stretch(start_byte=begin, end_byte=end)], [], frozenset(), 200)


def test_no_compiler_is_told_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: str(tmp_path / "no-such-compiler"))
    assert "no-such-compiler" in build().compiled(SOURCE, tmp_path / "x.so")


@compiler
def test_what_does_not_compile_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("not C")
    assert "error" in build().compiled(tmp_path, tmp_path / "x.so")
    assert not (tmp_path / "x.so").exists()


@compiler
@pytest.mark.slow
def test_no_byte_out_of_bounds(tmp_path: Path) -> None:
    """Random texts and stretches under the address and undefined-behaviour sanitizers."""
    runtime = subprocess.run([LINKER, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout
    if not Path(runtime.strip()).is_file():
        pytest.skip("this compiler has no address sanitizer")
    target = tmp_path / "_scan.abi3.so"
    assert not build().compiled(SOURCE, target, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover")
    environment = {**os.environ, "LD_PRELOAD": runtime.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), str(target)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) == 20_000

"""`tokens.terms` and `tokens.compounds` of many texts at once. Same words, always; only the white space may differ.

Three neighbouring characters show where a word ends and where a sub-word begins inside one, so arrays find these
places for a whole file in a few passes; the C extension does it in one pass. `tokens` does the rest: words long enough
to be cut, digits of other scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from gitindex.extract import tokens
from gitindex.extract.native import scan

_SPACE = 32
_ASCII = bytes(range(128))
_OTHER, _LOWER, _UPPER, _DIGIT, _UNDERSCORE, _BEYOND = range(
    6
)  # three of them as one number below 216: one byte
_SPLIT, _LEADING = 1, 2  # a sub-word begins here; a digit that begins no identifier


def _character_kind(byte: int) -> int:
    if byte > 127:
        return _BEYOND  # part of a letter: `_blank_non_letters` has removed everything else beyond ASCII
    character = chr(byte)
    if character.isdigit():
        return _DIGIT
    if character.isalpha():
        return _UPPER if character.isupper() else _LOWER
    return _UNDERSCORE if character == "_" else _OTHER


def _classify_boundary(before: int, current: int, after: int) -> int:
    if current == _DIGIT and before == _OTHER:
        return _LEADING
    if {before, current} & {_OTHER, _UNDERSCORE}:
        return 0
    is_hump = current == _UPPER and (before == _LOWER or (before == _UPPER and after == _LOWER))
    return _SPLIT if is_hump or (before == _DIGIT) != (current == _DIGIT) else 0


_KINDS = bytes(map(_character_kind, range(256)))
_BOUNDARIES = bytes(_classify_boundary(code // 36, code // 6 % 6, code % 6) for code in range(216)).ljust(
    256, b"\0"
)
_WORDS = bytes(_SPACE if _character_kind(c) == _OTHER else c for c in range(256)).lower()
_SUBWORDS = _WORDS.replace(b"_", b" ")
_IS_LETTER = np.array([kind in (_LOWER, _UPPER, _BEYOND) for kind in range(6)])


def terms_and_compounds(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Both of each text, for a white-space tokenizer."""
    if scan is None:
        yield from _split_with_arrays(texts)
        return
    pairs = scan.words(texts, tokens.MAX_TOKEN, _lower_case)
    array_pairs = _split_with_arrays([text for text, pair in zip(texts, pairs, strict=True) if pair is None])
    yield from (next(array_pairs) if pair is None else pair for pair in pairs)


def _split_with_arrays(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    encoded = [text.encode("utf-8", "replace") for text in texts]
    bounds = np.array([*accumulate((len(piece) + 1 for piece in encoded), initial=1)])
    data = b"\n".join([b"", *encoded, b""])  # every word has a neighbour on both sides
    plain = data.isascii()
    other_digits = frozenset[str]()
    if not plain:
        data, other_digits = _blank_non_letters(data)
    kinds = np.frombuffer(data.translate(_KINDS), np.uint8)
    boundaries = _classify_boundaries(kinds)
    splits = np.flatnonzero(boundaries == _SPLIT)
    if not plain:
        splits = _drop_whole_word_splits(splits, kinds)
    subwords = np.insert(np.frombuffer(data.translate(_SUBWORDS), np.uint8), splits, _SPACE)
    moved = bounds + splits.searchsorted(bounds)
    slow = _find_long_word_texts(subwords, moved)
    words = np.frombuffer(data.translate(_WORDS), np.uint8).copy()
    _blank_leading_digits(words, np.flatnonzero(boundaries == _LEADING), kinds)
    inner = splits[words[splits - 1] != _SPACE]
    names, limits = _find_compounds(
        words, np.concatenate((inner, np.flatnonzero(kinds == _UNDERSCORE))), bounds
    )
    terms = subwords.tobytes()
    spans = zip(pairwise(moved.tolist()), pairwise(limits), strict=True)
    for index, ((first, last), (begin, end)) in enumerate(spans):
        if index in slow or (other_digits and not other_digits.isdisjoint(texts[index])):
            yield tokens.terms(texts[index]), tokens.compounds(texts[index])
        elif plain:
            distinct = dict.fromkeys([name[: tokens.MAX_TOKEN] for name in names[begin:end]])
            yield terms[first:last].decode(), b" ".join(distinct).decode()
        else:
            yield _lower_case(terms[first:last].decode(), b" ".join(names[begin:end]).decode())


def _lower_case(terms: str, names: str) -> tuple[str, str]:
    """Lower-case letters beyond ASCII, too: the translation tables only did the ASCII ones."""
    cut = dict.fromkeys([name[: tokens.MAX_TOKEN] for name in names.lower().split()])
    return terms.lower(), " ".join(cut)


def _blank_non_letters(data: bytes) -> tuple[bytes, frozenset[str]]:
    """The data with blanks for every character beyond ASCII that is no letter; and the digits among those."""
    other_digits = []
    for character in set(data.translate(None, _ASCII).decode()):
        if character.isdecimal() or not character.isalnum():
            data = data.replace(encoded := character.encode(), b" " * len(encoded))
            other_digits += [character] if character.isdecimal() else []
    return data, frozenset(other_digits)


def _classify_boundaries(kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    padded = np.zeros(len(kinds) + 2, np.uint8)
    padded[1:-1] = kinds
    triples = padded[:-2] * np.uint8(36) + kinds * np.uint8(6) + padded[2:]  # the index into _BOUNDARIES
    return np.frombuffer(triples.tobytes().translate(_BOUNDARIES), np.uint8)


def _drop_whole_word_splits(splits: NDArray[np.int64], kinds: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Letters that are not all ASCII stay one word: case says little in most scripts."""
    breaks = np.flatnonzero(~_IS_LETTER[kinds])
    is_whole = np.zeros(len(breaks) + 1, np.bool_)
    is_whole[breaks.searchsorted(np.flatnonzero(kinds == _BEYOND))] = True
    hump = (kinds[splits] == _UPPER) & (kinds[splits - 1] != _DIGIT)
    remaining: NDArray[np.int64] = splits[~(hump & is_whole[breaks.searchsorted(splits)])]
    return remaining


def _find_long_word_texts(words: NDArray[np.uint8], bounds: NDArray[np.int64]) -> frozenset[int]:
    """Numbers of the texts that hold a word longer than MAX_TOKEN."""
    ends = np.flatnonzero(words == _SPACE)
    candidates = np.flatnonzero(
        ends[1:] - ends[:-1] > tokens.MAX_TOKEN + 1
    )  # in bytes; perhaps fewer characters
    long_starts = [
        first + 1
        for first, end in zip(ends[candidates].tolist(), ends[candidates + 1].tolist(), strict=True)
        if len(words[first + 1 : end].tobytes().decode().lower()) > tokens.MAX_TOKEN
    ]
    return frozenset((bounds.searchsorted(long_starts, "right") - 1).tolist())


def _blank_leading_digits(
    words: NDArray[np.uint8], positions: NDArray[np.int64], kinds: NDArray[np.uint8]
) -> None:
    """An identifier does not start with a digit: blank each run of digits that begins at one of `positions`."""
    while len(positions):
        words[positions] = _SPACE
        positions = positions[kinds[positions + 1] == _DIGIT] + 1


def _find_compounds(
    words: NDArray[np.uint8], marks: NDArray[np.int64], bounds: NDArray[np.int64]
) -> tuple[list[bytes], list[int]]:
    """The words with a mark in them, and how many of them stand before each bound."""
    inside = words != _SPACE
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts, ends = edges[::2], edges[1::2]
    marked = np.zeros(len(starts) + 1, np.bool_)
    marked[starts.searchsorted(marks, "right")] = True
    starts, ends = starts[marked[1:]], ends[marked[1:]]
    text = words.tobytes()
    compounds = [text[begin:end] for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return compounds, starts.searchsorted(bounds).tolist()

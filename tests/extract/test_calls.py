"""`extract.calls`: which definition a call stands in."""

from __future__ import annotations

from gitindex.extract.calls import SymbolRange, _CallSite, _find_owners


def test_the_innermost_definition_around_a_call_owns_it():
    """Ends are exclusive: a call that starts where a definition ends is outside of it."""
    owners = [SymbolRange(10, 50, 0), SymbolRange(20, 30, 1), SymbolRange(60, 70, 2)]
    sites = [_CallSite(position, 0, 0) for position in (5, 10, 20, 29, 30, 49, 50, 60, 69, 70)]
    assert list(_find_owners(sites, owners)) == [-1, 0, 1, 1, 0, 0, -1, 2, 2, -1]

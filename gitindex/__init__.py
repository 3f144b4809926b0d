"""gitindex: immutable, verified snapshots of a code index, bound to git trees."""

__version__ = "0.1.0"

"""The benchmark itself: what it fits, draws and writes."""

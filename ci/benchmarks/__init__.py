"""Benchmarks of gitindex: every speed claim is a ratio measured in one run, made by `ci/bench`."""

"""Embedders behind one protocol: text in, unit vectors out."""

"""Graphs of any size: parts, steps on some of them, and exact rows for all nodes in blocks."""

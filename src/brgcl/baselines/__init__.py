"""Peers: one file per method, each with its settings, loss, loop, citation and `METHOD`."""

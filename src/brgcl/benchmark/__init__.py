"""Trials: a graph made noisy in a stated way, a method that sees no truth, and its score."""

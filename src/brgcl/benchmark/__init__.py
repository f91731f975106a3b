"""Experiments: tables of many runs, their records, and how they are shown."""

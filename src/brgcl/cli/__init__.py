"""The command line: options -> a library call -> text or files; no numerics."""

"""Run the command line with `python -m brgcl`."""

from brgcl.cli import main

main()

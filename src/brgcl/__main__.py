"""Run the command line with `python -m brgcl`."""

from brgcl.cli.main import main

main()

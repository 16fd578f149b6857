"""``python -m rbdhw`` is the command line."""

from rbdhw.cli import main

main()

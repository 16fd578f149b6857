"""``python -m rbdhw`` is the command line."""

from rbdhw.cli.app import main

if __name__ == "__main__":
    main()

"""``python -m rbdhw`` is the command line."""

import os
import signal
import sys
from types import FrameType

# NumPy reads it once, on import. The matrix products are small: further threads would mostly wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run the command line.

    An interruption at any time, also while modules are imported, ends it without a traceback. So does a
    request to end: incomplete files and the programs that run are removed.
    """
    signal.signal(signal.SIGTERM, _end)
    try:
        from rbdhw.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()

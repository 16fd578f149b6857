"""``python -m rbdhw`` is the command line."""

import os

# NumPy reads it once, on import. The matrix products are small: further threads would mostly wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rbdhw.cli.app import main

if __name__ == "__main__":
    main()

"""What the functions of :mod:`rbdhw` and the commands do, and how their results are shown."""

"""Passes: one file each, ``Graph -> Graph``, the function computed unchanged."""

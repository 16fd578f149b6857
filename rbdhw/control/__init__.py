"""Optimal control in a closed loop, which judges number formats."""

"""Rigid-body dynamics over any scalar, with no idea of graphs or hardware."""

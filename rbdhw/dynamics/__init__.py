"""Rigid-body dynamics over any scalar type; independent of graphs and hardware."""

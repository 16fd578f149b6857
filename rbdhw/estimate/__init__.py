"""Estimate the resources of a bound design on its device, from its structure."""

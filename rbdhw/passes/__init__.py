"""Passes: one file each, ``Graph -> Graph``; the computed function does not change."""

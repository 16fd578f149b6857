"""Packages of an accelerator for the tools in which designs are put together."""

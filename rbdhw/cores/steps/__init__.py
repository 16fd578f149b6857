"""Cores of equal steps: the hardware of one link, or of one stage, through which all pass in turn."""

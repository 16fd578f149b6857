"""The report on a design's folder: one page in HTML, with everything in it."""

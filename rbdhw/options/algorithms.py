"""The steps of the functions that have several algorithms."""

from __future__ import annotations

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "axes": ("turning", "shared"),
    "derivatives": ("composite", "columns"),
    "inverse": ("paired_pivots", "block_pivots", "single_pivots", "articulated"),
    "products": ("dense", "solves", "triangular"),
    "forward": ("inverse", "propagated", "reduced", "eliminated"),
    "gradient": ("corrected", "repeated"),
    "second": ("columns", "differentiated"),
    "rates": ("bias", "symbols"),
    "contacts": ("factored", "propagated"),
}
"""The algorithms of each step that has several. The first is the default."""

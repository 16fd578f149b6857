"""The pipeline: a core with an operator for each sum, and multipliers that products share."""

"""From real numbers to integers: ranges, formats, and the bit-exact program and evaluator."""

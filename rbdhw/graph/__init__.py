"""The scalar dataflow graph: nodes, tracing, float interpreter, invariants and an exact text format."""

"""The scalar dataflow graph: nodes, tracing, float interpreter, invariants, exact text."""

"""Static timing of a mapped netlist: a check of a design's clock that shares nothing with the scheduler."""

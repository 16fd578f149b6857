"""The array: a core of multiply-accumulate units that read their operands from small memories."""

"""The bit-exact model of an accelerator: words, packets and answers, without its hardware."""

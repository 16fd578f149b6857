"""Rollouts in the bit-exact model: arrays, words, packets and answers, and random ones."""

"""A solver of optimal control around a core for steps and their derivatives."""

"""The static modulo schedule: problem, list scheduler, verifier, binding."""

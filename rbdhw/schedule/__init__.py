"""The static modulo schedule: problem, list scheduler, verifier and binding."""

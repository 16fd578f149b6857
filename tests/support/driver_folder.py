"""The design of the driver's tests, and how another process of theirs finds its folder."""

FOLDER = "DRIVER_TEST_FOLDER"
"""The variable with the folder."""

OPTIONS = {
    "functions": "id,did,rollout",
    "width": 18,
    "ii": 4,
    "max_error": 0.1,
    "horizon": 8,
    "rollout": "samples,cost,gains",
    "parameters": "payload",
    "parameters_by": "load",
    "parameter_sets": 2,
}

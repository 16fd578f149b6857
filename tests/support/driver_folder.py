"""How another process of the driver's tests finds the folder of their design."""

FOLDER = "DRIVER_TEST_FOLDER"
"""The variable with the folder."""

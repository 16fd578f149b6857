"""The options of a build: one table makes the command line, the Python interface, checks and documents."""

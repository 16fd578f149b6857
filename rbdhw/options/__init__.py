"""The options of a build: one table, from which command line, Python interface, checks and documents are made."""

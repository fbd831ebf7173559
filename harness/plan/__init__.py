"""Decide what to run: models of the matrix, loading, cells, releases. Reads files, runs nothing."""

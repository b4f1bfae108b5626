"""Traces of real runs: recording them, reading the files that runs leave, and writing ours."""

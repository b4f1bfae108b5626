"""Passes over iree.compiler.ir; one a file, with a lit test of its name."""

"""Readers of ops, one file a family; each file's `READERS` maps op names to functions.

To add an op, write `read(builder, op)` in a file here and add the file to `FAMILIES`.
"""

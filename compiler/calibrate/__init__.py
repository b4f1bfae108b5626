"""Measures this machine through IREE and writes what it found as a target file."""

"""Passes that put probes into a program, and the plan that says what a run of it will tell."""

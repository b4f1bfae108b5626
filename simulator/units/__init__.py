"""What work costs on each unit of a target: pure functions, one unit a file."""

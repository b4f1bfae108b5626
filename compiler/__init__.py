"""Command lines, the compile session, reports: all that touches files, processes and terminals."""

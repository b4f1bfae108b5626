"""Passes that say what was found, as remarks at the user's own lines."""

"""See the README of the room."""

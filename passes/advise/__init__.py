"""Advice: rules that propose a change, and the simulations that prove it."""

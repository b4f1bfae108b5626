"""How IREE's code generators spell tiles: one file a pipeline. See `config.py`."""

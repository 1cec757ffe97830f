"""The version, a constant: asking importlib.metadata for it costs 40 ms at every start."""

__version__ = "0.1.0"

"""Model in, text out: pure functions."""

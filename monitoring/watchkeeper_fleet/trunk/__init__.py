"""The trunk exporter: which blocking jobs of a branch are red, and for how many commits in a row."""

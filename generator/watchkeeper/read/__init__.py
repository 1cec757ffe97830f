"""Anyone's YAML and JSON, read with the place of each text."""

"""Acme's own package, which has the name of a folder in watchkeeper's repository."""

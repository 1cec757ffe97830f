"""Rule files become Python definitions that render back to the same rules, with their comments."""

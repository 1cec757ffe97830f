"""What can be proven of an expression without data."""

"""What we watch on a GPU fleet, and the programs that publish it."""

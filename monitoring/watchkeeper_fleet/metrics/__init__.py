"""The contract: what is published, by whom, with which labels."""

# What our scrape configuration puts on every series.
TARGET_LABELS = ("job", "instance", "node", "cluster")

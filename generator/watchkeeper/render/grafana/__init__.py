"""Dashboards to Grafana's current classic model, as text that is the same everywhere."""

from watchkeeper.render.grafana.classic import Panel, Rendered, to_classic
from watchkeeper.render.grafana.read import read
from watchkeeper.render.grafana.text import to_text

__all__ = ["Panel", "Rendered", "read", "to_classic", "to_text"]

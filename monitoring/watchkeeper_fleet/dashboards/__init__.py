"""The fleet's dashboards: one module each, with a function `dashboard(pack)`."""

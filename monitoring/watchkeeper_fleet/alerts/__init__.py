"""Alerts, one module a family."""

"""Alerts as GitHub issues: a receiver of Alertmanager's webhook."""

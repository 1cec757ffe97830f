"""Alertmanager's configuration, read as Alertmanager reads it."""

from watchkeeper.read.alertmanager.document import config

__all__ = ["config"]

"""Stands in for torch where there is no GPU: the calls that the agent makes, and the statistics that a test sets."""

from types import SimpleNamespace

from torch import _C, cuda, version  # noqa: F401 - as torch has them

__version__ = version.__version__


def _nvrtc(number):
    return SimpleNamespace(version=lambda: number)


backends = SimpleNamespace(cudnn=_nvrtc(90100))

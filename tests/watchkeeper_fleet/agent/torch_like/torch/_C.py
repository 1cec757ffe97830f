# ruff: noqa: N802, N999 - torch's own names

observers = []


def _cuda_attach_out_of_memory_observer(observer):
    observers.append(observer)


def _cuda_getAllocatorBackend():
    return "native"

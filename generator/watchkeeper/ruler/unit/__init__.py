"""promtool's unit-test files, run in process.

`testfile` reads them, `verdict` runs and judges them, `text` and `junit` tell the outcome.
"""

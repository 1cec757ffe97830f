"""A process that holds spool files, as a workload does; it is told on its standard input what to do with them."""

import json
import sys

from watchkeeper_fleet.spool import Writer


def main() -> None:
    folder = sys.argv[1]
    writers: dict[str, Writer] = {}
    for line in sys.stdin:
        told = json.loads(line)
        name = told["name"]
        if "identity" in told:
            writers[name] = Writer(folder, told["identity"])
            for series, labels in told["fields"]:
                writers[name].field(series, **labels)
            for key, text in told["texts"].items():
                writers[name].set_text(key, text)
        if "values" in told:
            writers[name].publish([float("nan") if value is None else value for value in told["values"]])
        if "mark" in told:
            writers[name].close(told["mark"])
        sys.stdout.write(f"{writers[name].path}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

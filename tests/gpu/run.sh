#!/usr/bin/env bash
# What can only be seen on a GPU, for the day there is one: under 8 minutes, with torch installed.
#   tests/gpu/run.sh           all; where there is no GPU, what runs on a CPU, and it says so
#   tests/gpu/run.sh NAME ...  some of it
# PYTHON names the Python that has torch.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
export PYTHONPATH="$root/generator:$root/monitoring${PYTHONPATH:+:$PYTHONPATH}"
nvidia-smi -L 2>/dev/null || echo "run.sh: no nvidia-smi here"
exec timeout 480 "${PYTHON:-python3}" "$root/tests/gpu/checks.py" "$@"

#!/bin/sh
# Check what Retable needs on this machine, print what is missing, then run infra/environment.py.
set -eu
cd "$(dirname "$0")/.."

missing() {
    printf '%s\n' "$@" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

command -v make >/dev/null 2>&1 || missing \
    "make is missing. Get it with:" \
    "  Debian, Ubuntu   sudo apt install make" \
    "  Fedora           sudo dnf install make" \
    "  macOS            xcode-select --install"

for python in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
    if is_new_enough "$python"; then
        exec "$python" infra/environment.py
    fi
done

found=$("${PYTHON:-python3}" --version 2>&1) || found="none"
missing \
    "Python 3.11 or newer is missing (found: $found). Get it with:" \
    "  Debian, Ubuntu   sudo apt install python3.11 python3.11-venv   (Debian 12, Ubuntu 24.04 and newer: python3 python3-venv)" \
    "  Fedora           sudo dnf install python3.11" \
    "  macOS            brew install python@3.11" \
    "and if it has another name, give it: make setup PYTHON=/path/to/python3.11"

#!/usr/bin/env bash
# Checks the format of every C and C++ file with one pinned clang-format, so that every machine
# agrees. With --fix, rewrites the files instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=16.0.6

tool=build/venv/bin/clang-format
if ! "$tool" --version 2>/dev/null | grep -q "version $version"; then
  mkdir -p build
  python3 -m venv build/venv
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check \
    "clang-format==$version" </dev/null
fi

arguments=(--dry-run --Werror)
[[ ${1:-} != --fix ]] || arguments=(-i)
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' '*.c' |
  xargs -0 -n 40 -P "$(nproc)" "$tool" --style=file "${arguments[@]}"
echo "format: ok" >&2

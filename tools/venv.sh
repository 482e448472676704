#!/bin/sh
# Create a virtual environment where there is none.
# usage: venv.sh PYTHON FOLDER
set -eu
python=$1 folder=$2
"$python" - <<'CHECK'
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}. "
             "Name a newer one: make up PYTHON=python3.12")
CHECK
if [ -x "$folder/bin/python" ]; then
  exit 0
fi
echo "==> Creating the environment in $folder"
if ! "$python" -m venv "$folder" 2>/tmp/likewise-venv.$$; then
  rm -rf "$folder"
  # Debian ships venv apart from python3; the virtualenv package needs pip alone.
  if "$python" -m virtualenv --version >/dev/null 2>&1; then
    "$python" -m virtualenv -q "$folder"
  else
    cat /tmp/likewise-venv.$$ >&2
    echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv" >&2
    rm -f /tmp/likewise-venv.$$
    exit 1
  fi
fi
rm -f /tmp/likewise-venv.$$

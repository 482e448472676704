#!/bin/sh
# Create the virtual environment and install everything, at the pinned versions.
# usage: environment.sh PYTHON FOLDER
set -eu
python=$1 folder=$2
"$python" - <<'CHECK'
import sys
if sys.version_info < (3, 11):
    sys.exit(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}. "
             "Name a newer one: make up PYTHON=python3.12")
CHECK
if [ ! -x "$folder/bin/python" ]; then
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
fi
echo "==> Installing Python packages (the first time this takes some minutes)"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c constraints.txt -e '.[dev]'
# cblearn asks for NumPy 1.26 and runs with 2 as well, so it is installed without what it asks for;
# numba and sparse, which it needs, are among the packages above. Tests load triplets.csv with it.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c constraints.txt --no-deps cblearn
# crowd-kit asks for transformers, which only its embeddings of texts use; what else it needs is
# above.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c constraints.txt --no-deps crowd-kit
# active-semi-supervised-clustering is of 2018: nothing it asks for may move a version.
# bench/semicrowd compares with it.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c constraints.txt --no-deps active-semi-supervised-clustering

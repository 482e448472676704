#!/bin/sh
# Create the virtual environment and install everything, at the pinned versions, hashes verified.
# usage: environment.sh PYTHON FOLDER
set -eu
python=$1 folder=$2
sh tools/venv.sh "$python" "$folder"
echo "==> Installing Python packages (the first time this takes some minutes)"
# The locks are whole, so nothing is installed that is not in them: --no-deps. Some packages ask for
# what they do not need here: cblearn for NumPy 1.26, crowd-kit for transformers, which only its
# embeddings of texts use.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
  -r requirements/app.lock -r requirements/dev.lock
sh tools/torch.sh "$folder/bin/python"
# setuptools, which builds the links to the sources, is of app.lock.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
  --no-deps --no-build-isolation -e .
"$folder/bin/python" -m likewise.encoder_weights

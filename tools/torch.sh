#!/bin/sh
# Install torch at the pinned version: by requirements/torch.lock, hashes verified, unless pip is
# told of further places. Builds for CPUs or for another CUDA come from those; their hashes are not
# in the lock, and they are not verified. See docs/supply_chain.md.
# usage: torch.sh PYTHON
set -eu
python=$1
pip() { "$python" -m pip --disable-pip-version-check "$@"; }
elsewhere=$(pip config list | grep -E 'extra-index-url|find-links' || true)
if [ -n "$elsewhere" ] || [ "${TORCH_HASHES:-on}" = off ]; then
  echo "==> torch: a build of pip's further places is taken, its hash is not verified"
  exec "$python" -m pip --disable-pip-version-check install --quiet -c constraints.txt torch
fi
pip install --quiet --require-hashes --no-deps -r requirements/torch.lock

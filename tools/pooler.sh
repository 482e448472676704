#!/bin/sh
# Find PgBouncer for the tests behind a pooler, or get it. Without it they are skipped.
set -eu
PATH="$PATH:/usr/sbin:/usr/local/sbin"
if command -v pgbouncer >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "==> Getting PgBouncer for the tests"
  # As a package, it would also start as a service.
  if apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends pgbouncer; then
    exit 0
  fi
fi
echo "No PgBouncer found: the tests behind a pooler are skipped. Install pgbouncer with your package manager." >&2

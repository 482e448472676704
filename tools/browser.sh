#!/bin/sh
# Find a Chromium for the browser tests, or get one. usage: browser.sh BIN
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if "$1/python" - <<'CHECK'
import sys
from pathlib import Path
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    sys.exit(0 if Path(playwright.chromium.executable_path).exists() else 1)
CHECK
then exit 0; fi
echo "==> Getting Chromium for the browser tests"
if "$1/python" -m playwright install chromium; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium && exit 0
fi
echo "No Chromium found and none could be installed. Install chromium with your package manager." >&2
exit 1

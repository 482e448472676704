"""Chromium: the one that is installed, else Playwright's own."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# All that a browser keeps for a page, as text.
KEPT = """async () => {
  const told = (asked) => new Promise((done) => { asked.onsuccess = () => done(asked.result); });
  const kept = [document.cookie, {...localStorage}, {...sessionStorage}];
  for (const {name} of await indexedDB.databases()) {
    const database = await told(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const rows = database.transaction(store).objectStore(store);
      kept.push(name, ...await Promise.all([told(rows.getAllKeys()), told(rows.getAll())]));
    }
    database.close();
  }
  return JSON.stringify(kept);
}"""
# What comes at all may come late where the tests share two cores.
expect.set_options(timeout=30_000)


@contextmanager
def chromium(arguments: Sequence[str] = ARGUMENTS) -> Iterator[Browser]:
    """A headless Chromium with a fresh profile."""
    installed = next((path for name in NAMES if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed, args=list(arguments))
        try:
            yield browser
        finally:
            browser.close()

"""A browser that notices when a page runs what it should only show."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Dialog, Frame, Page, Request

# Runs in every page and frame before anything else.
TRAPS = """
window.ran = n => console.error('TRAP payload ' + n + ' ran');
document.addEventListener('securitypolicyviolation', event => console.error(
  'TRAP the policy stopped ' + event.violatedDirective + ' ' + event.blockedURI + ' '
  + event.sample));
"""
# What stands in a page as markup though it came from a text.
LIVE = """() => {
  const found = [];
  const look = root => {
    for (const one of root.querySelectorAll('*')) {
      for (const { name, value } of one.attributes) {
        if (name.startsWith('on') || name === 'srcdoc') found.push(`${one.tagName} ${name}`);
        if (/^\\s*(javascript|vbscript|data:text)/i.test(value)
            && ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name))
          found.push(`${one.tagName} ${name}=${value}`);
      }
      if (['SCRIPT', 'STYLE'].includes(one.tagName) && !one.src
          && one.type !== 'application/json' && /ran\\(|evil/.test(one.textContent))
        found.push(`${one.tagName} ${one.textContent}`);
      if (one.shadowRoot) look(one.shadowRoot);
    }
  };
  look(document);
  return found;
}"""
# Everything that a page shows or reads out: text, values of fields, names of things.
SEEN = """() => {
  const said = [document.title];
  for (const one of document.body.querySelectorAll('*')) {
    if (['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(one.tagName)) continue;
    for (const node of one.childNodes) if (node.nodeType === 3) said.push(node.textContent);
    if ('value' in one) said.push(String(one.value));
    for (const name of ['aria-label', 'title', 'alt', 'placeholder'])
      if (one.hasAttribute(name)) said.push(one.getAttribute(name));
  }
  return said.join('\\n');
}"""


@dataclass
class Watch:
    """What went wrong on the pages of a context, by the page's address."""

    context: BrowserContext
    base_url: str
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.add_init_script(TRAPS)
        self.context.on("request", self._request)
        self.context.on("page", self._page)

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and not self._is_ours(request.url):
            self.wrong.append(f"asked {request.url}")

    def _page(self, page: Page) -> None:
        # Failing inside Playwright's own callback would end its connection.
        page.on("console", lambda message: self._note(page, message.text))
        page.on("pageerror", lambda error: self._note(page, f"TRAP {error}"))
        page.on("dialog", lambda dialog: self._opened(page, dialog))
        page.on("framenavigated", self._navigated)

    def _opened(self, page: Page, dialog: Dialog) -> None:
        self._note(page, "TRAP a dialog")
        dialog.dismiss()

    def _note(self, page: Page, text: str) -> None:
        if text.startswith("TRAP") or "Content Security Policy" in text:
            self.wrong.append(f"{page.url}: {text}")

    def _navigated(self, frame: Frame) -> None:
        if frame.url not in ("about:blank", "") and not self._is_ours(frame.url):
            self.wrong.append(f"went to {frame.url}")

    def _is_ours(self, url: str) -> bool:
        return url.startswith((f"{self.base_url}/", "blob:", "about:blank"))

    def look(self, page: Page) -> str:
        """What is seen on a page and in its frames; notes what is alive that should not be."""
        seen = []
        for frame in page.frames:
            self.wrong += [f"{page.url}: {living}" for living in frame.evaluate(LIVE)]
            seen.append(frame.evaluate(SEEN))
        return "\n".join(seen)

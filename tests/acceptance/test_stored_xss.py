"""No text that somebody writes runs as a script on any page: ten payloads in every free text."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute, iter_route_contexts
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError
from sqlalchemy import select, update

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.annotation.models import Answer
from app.core.database import transaction
from app.core.headers import PAGE_POLICY
from testbed.system import System
from tests.support.payloads import (
    CLOSED,
    FREE,
    PAYLOADS,
    UNSEEN,
    fitting,
    shown,
    texts_of_tables,
)
from tests.support.poisoned import Poisoned, a_poisoned_requester
from tests.support.watched import Watch

pytestmark = pytest.mark.browser
SLOW = 60_000
# The texts of all others must be seen unchanged on some page.
SHOWN = set(FREE) - set(UNSEEN)
# And those that stand in some file.
FILED = {"answer.descriptions", "campaign.question", "image.attributes", "image.filename"}
# The same in typed tables and arrays, each of which holds these.
OF_TYPES = {
    "answers.parquet": {"answer.descriptions", "image.filename"},
    "embedding.parquet": {"image.attributes", "image.filename"},
    "embedding.npz": {"image.filename"},
    "dissimilarities.npz": {"image.filename"},
}
# What the first campaign's model, made up, and the second one's, which tells of labels, have not.
NOT_MADE = {(0, "model.zip"), (1, "attributes.csv"), (1, "annotators.csv")}
# Buttons that open a part of a page; those in the head of every page stay shut.
CLOSED_PART = "main button[aria-expanded=false]"
PLAN = "button:text-is('Continue with the plan')"
TILE = "button[data-image] img"
TOGETHER = re.compile("[1-9] together")
# How many questions of a page the server has not answered.
UNDER_WAY = """
window.underWay = 0;
const ask = window.fetch;
window.fetch = (...given) => {
  window.underWay += 1;
  return ask(...given).finally(() => { window.underWay -= 1; });
};
"""
SETTLED = """() => new Promise(done => {
  let before = '', same = 0, looks = 0;
  const look = () => {
    const now = document.body.innerHTML;
    const rests = !window.underWay && !document.querySelector('[aria-busy=true]');
    same = rests && now === before ? same + 1 : 0;
    before = now;
    // Pages that move all the time are looked at as they are.
    same >= 3 || ++looks > 100 ? done(true) : setTimeout(look, 100);
  };
  look();
})"""


def test_every_text_column_is_planted_or_has_a_reason() -> None:
    """A new column fails here until somebody says what may stand in it."""
    assert set(FREE) & set(CLOSED) == set()
    assert texts_of_tables() == set(FREE) | set(CLOSED)


def test_every_payload_fits_into_the_texts_of_some_row() -> None:
    for length in (60, 100, 200, 600):
        together = "".join(fitting("~1.1~", turn, length) for turn in range(len(PAYLOADS)))
        assert all(payload in together for payload in PAYLOADS), length


OURS = PAGE_POLICY.format(own="'self'", nonce="of-this-page", forms="", ancestors="'none'")


@pytest.mark.parametrize("payload", [0, 1, 2, 5, 6, 8])
@pytest.mark.parametrize("policy", ["", OURS])
def test_the_watch_notices_a_payload_that_is_markup(
    browser: Browser, payload: int, policy: str
) -> None:
    """With our policy too, which stops scripts but not markup."""
    base = "http://pages.test"
    context = browser.new_context()
    watch = Watch(context, base)
    page = context.new_page()
    opening = '<input value="' if payload == 6 else "<p>"
    body = f'<!doctype html><body>{opening}{PAYLOADS[payload]}"></body>'
    headers = {"Content-Type": "text/html"}
    if policy:
        headers["Content-Security-Policy"] = policy.format(
            own="'self'", forms="", ancestors="'none'"
        )

    def fulfil(route: Route) -> None:
        is_page = route.request.url == f"{base}/"
        route.fulfill(body=body if is_page else "", headers=headers if is_page else {})

    context.route("**/*", fulfil)
    page.goto(f"{base}/")
    watch.look(page)
    assert watch.wrong != []


@pytest.fixture
def poisoned(web: System) -> Poisoned:
    return a_poisoned_requester(web.base_url)


@pytest.fixture
def watch(browser: Browser, web: System) -> Iterator[Watch]:
    context = browser.new_context(viewport={"width": 1440, "height": 1200}, reduced_motion="reduce")
    context.add_init_script(UNDER_WAY)
    yield Watch(context, web.base_url)
    context.close()


def pages_of_the_application() -> set[str]:
    """Routes that a browser opens."""
    from app.main import app

    return {
        str(route.path)
        for route in iter_route_contexts(app.routes)
        if isinstance(route.route, APIRoute)
        and "GET" in (route.methods or ())
        and route.route.response_class is HTMLResponse
    }


def sign_in(context: BrowserContext, web: System, owner: Account) -> Page:
    page = context.new_page()
    page.set_default_timeout(SLOW)
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible(timeout=SLOW)
    return page


def see(watch: Watch, page: Page, address: str) -> str:
    """Open a page, and everything on it that opens; what is to be seen there."""
    reply = page.goto(address)
    assert reply is None or reply.status < 500, address
    page.evaluate(SETTLED)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # What opens may ask the server first.
    page.evaluate(SETTLED)
    seen = watch.look(page)
    for button in [*page.query_selector_all(CLOSED_PART), *page.query_selector_all(PLAN)]:
        button.evaluate("one => one.click()")
        page.evaluate(SETTLED)
        seen += watch.look(page)
    return seen


def see_evidence(watch: Watch, page: Page, campaign: str) -> str:
    """The answers in which two images were together, with the words of their annotators."""
    page.goto(f"{campaign}/map?selected=0")
    buttons = page.get_by_test_id("neighbours").get_by_role("button", name=TOGETHER)
    buttons.first.click()
    dialog = page.get_by_role("dialog", name="Together or apart?")
    expect(dialog.get_by_test_id("evidence")).to_be_visible()
    seen = watch.look(page)
    dialog.get_by_role("button", name="Play back").first.click()
    expect(dialog.get_by_test_id("replay")).to_be_visible()
    return seen + watch.look(page)


def test_no_text_of_anybody_runs_on_any_page(web: System, watch: Watch, poisoned: Poisoned) -> None:
    page = sign_in(watch.context, web, poisoned.owner)
    seen, visited = "", {"/a/{link}"}
    for route, address in poisoned.pages:
        here = see(watch, page, web.base_url + address)
        seen, visited = seen + here, visited | {route}
    seen += see_evidence(watch, page, f"{web.base_url}/campaigns/{poisoned.campaigns[0]}")
    for kind, link in poisoned.links.items():
        seen += annotate(watch, page, link, kind)
    assert watch.wrong == []
    assert pages_of_the_application() - visited == set()
    assert SHOWN - shown(poisoned.planted, seen) == set()


def test_no_file_that_is_taken_away_is_a_page(
    web: System, watch: Watch, poisoned: Poisoned, browser: Browser, tmp_path: Path
) -> None:
    """Files with payloads are downloads; opened from the disk under their names they run nothing,
    either."""
    page = sign_in(watch.context, web, poisoned.owner)
    context = browser.new_context()
    of_disk, texts = Watch(context, tmp_path.as_uri()), defaultdict[str, str](str)
    missing: set[tuple[int, str]] = set()
    for number, campaign in enumerate(poisoned.campaigns):
        base = f"{web.base_url}/api/v1/campaigns/{campaign}"
        exports = page.request.get(f"{base}/exports").json()["files"]
        for name in [export["file"] for export in exports]:
            if page.request.get(f"{base}/export/{name}").status == 404:
                missing.add((number, name))
                continue
            path = tmp_path / str(number) / name
            with page.expect_download() as waiting:
                page.evaluate("url => { location.href = url }", f"{base}/export/{name}")
            waiting.value.save_as(path)
            texts[name] += text_of(path)
            open_file(of_disk, context.new_page(), path)
    assert watch.wrong == []
    assert of_disk.wrong == []
    assert missing == NOT_MADE
    all_of = "".join(texts.values()).replace('""', '"')
    assert FILED - shown(poisoned.planted, all_of) == set()
    for name, columns in OF_TYPES.items():
        assert columns - shown(poisoned.planted, texts[name]) == set(), name
    context.close()


def text_of(file: Path) -> str:
    """What stands in a file, or in the files of an archive."""
    if file.suffix == ".parquet":
        return "\n".join(texts_in(pq.read_table(file).to_pylist()))
    if file.suffix == ".npz":
        with np.load(file) as arrays:
            return "\n".join(texts_in([array.ravel().tolist() for array in arrays.values()]))
    if file.suffix == ".zip":
        with ZipFile(file) as archive:
            return "".join(
                archive.read(name).decode(errors="replace") for name in archive.namelist()
            )
    return file.read_bytes().decode(errors="replace")


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_in(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def open_file(watch: Watch, page: Page, path: Path) -> None:
    """What a double click does; kinds that Chromium does not show are downloaded once more."""
    with suppress(PlaywrightError):
        page.goto(path.as_uri())
    watch.look(page)
    page.close()


def annotate(watch: Watch, page: Page, link: str, kind: str) -> str:
    """From the consent to the first grid, or to the end where there is none left."""
    page.goto(link)
    page.get_by_test_id("consent-agree").wait_for()
    seen = watch.look(page)
    page.get_by_test_id("consent-agree").click()
    page.get_by_test_id("start").wait_for()
    seen += watch.look(page)
    page.get_by_test_id("start").click()
    if kind != "grid":
        page.locator(TILE).first.wait_for()
    page.evaluate(SETTLED)
    seen += watch.look(page)
    if kind == "begun":
        put_aside()
        page.reload()
        page.locator(TILE).first.wait_for()
        page.evaluate(SETTLED)
        seen += watch.look(page)
    return seen


def put_aside() -> None:
    """What one annotator has put aside becomes everybody's."""
    with transaction() as session:
        drafts = session.scalars(select(Answer.draft).where(Answer.state == "leased"))
        draft = next(draft for draft in drafts if draft and "~" in draft["descriptions"][0])
        leased = update(Answer).where(Answer.state == "leased")
        session.execute(leased.values(draft=draft, draft_version=99))

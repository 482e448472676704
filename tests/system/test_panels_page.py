"""People from panels in Chromium: they come with an id, and go back with it however it ends."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import func, select

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.annotation.models import Annotator
from app.campaigns.links import link_address
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.link_schemas import NewLink
from app.recruitment.links import LinkPlan, make_link, panel_address
from app.recruitment.models import Recruitment
from app.recruitment.settings import link_settings
from testbed.builders import a_campaign, an_account
from testbed.system import System
from tests.support.axe import violations
from tests.support.panel_site import PanelSite, panel_site
from tests.support.panels import connect, sona
from tests.support.person import SLOW, Person

pytestmark = pytest.mark.browser
ONE_GRID: dict[str, Any] = {"budget": 12, "grid_size": 4, "grids_per_assignment": 1}
NO_WORDS = {"descriptions": "none"}


@pytest.fixture
def panel() -> Iterator[PanelSite]:
    with panel_site() as site:
        yield site


def a_study(web: System, campaign: Campaign, settings: dict[str, Any]) -> str:
    """The address of a new link, as it is pasted at the panel."""
    body = NewLink(**settings)
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
        plan = LinkPlan(name=body.name, settings=body.settings(), places=body.places)
        link = make_link(session, owner, campaign.id, plan)
        address = link_address(link.link_token, web.base_url)
        return panel_address(address, link_settings(link.settings))


def come(browser: Browser, panel: PanelSite, address: str) -> Page:
    """In a browser of their own: from the panel's page to the study."""
    panel.studies["now"] = address
    page = browser.new_context().new_page()
    page.goto(f"{panel.origin}/study/now")
    page.get_by_role("link", name="Take part").click()
    return page


def do_grid(page: Page) -> None:
    page.get_by_test_id("start").click()
    person = Person(page, "mouse", lambda image: image % 2)
    person.sort_grid()
    person.submit()


def go_back(page: Page, panel: PanelSite) -> tuple[str, dict[str, str]]:
    page.get_by_test_id("go-back").click(timeout=SLOW)
    expect(page.get_by_role("heading", name="Welcome back")).to_be_visible(timeout=SLOW)
    return panel.last()


def n_people() -> int:
    with transaction() as session:
        return session.scalar(select(func.count()).select_from(Annotator)) or 0


def fail_practice(page: Page) -> None:
    """Everything in one group, and the same once more."""
    page.get_by_test_id("start").click()
    Person(page, "mouse", lambda image: 0).sort_grid()
    page.get_by_test_id("submit").click()
    page.get_by_test_id("practice-proceed").click()
    page.get_by_test_id("submit").click()


def test_a_sona_like_round_trip_ends_in_all_four_ways(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(
        annotation={
            **NO_WORDS, "consent": "We agree.", "known_attribute": "colour", "practice": 1,
        },
        **ONE_GRID,
    )  # fmt: skip
    practised = a_study(web, campaign, sona(panel.origin, places=2))

    def at(code: str) -> str:
        assert practised.endswith("?survey_code=%SURVEY_CODE%")
        return practised.replace("%SURVEY_CODE%", code)

    refuses = come(browser, panel, at("100001"))
    refuses.get_by_role("button", name="I don't agree").click()
    expect(refuses.get_by_test_id("way-back")).to_be_visible()
    assert violations(refuses) == []
    path, query = go_back(refuses, panel)
    assert (path, query["survey_code"], query["outcome"]) == (
        "/webstudy_credit.aspx", "100001", "no_consent",
    )  # fmt: skip
    assert query["credit_token"] == "abc"

    fails = come(browser, panel, at("100002"))
    fails.get_by_test_id("consent-agree").click()
    fail_practice(fails)
    expect(fails.get_by_role("heading", name="Thank you for trying")).to_be_visible()
    _, query = go_back(fails, panel)
    assert (query["survey_code"], query["outcome"]) == ("100002", "screened_out")

    # Who refused holds a place for a while, who failed practice does not; one is left.
    finishes = come(browser, panel, at("100003"))
    finishes.get_by_test_id("consent-agree").click()
    finishes.get_by_test_id("start").click()
    person = Person(finishes, "mouse", lambda image: image % 3)
    person.sort_grid()
    finishes.get_by_test_id("submit").click()
    finishes.get_by_test_id("practice-proceed").click()
    person.sort_grid()
    person.submit()
    expect(finishes.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    # By itself, after a while.
    expect(finishes.get_by_role("heading", name="Welcome back")).to_be_visible(timeout=SLOW)
    _, query = panel.last()
    assert (query["survey_code"], query["outcome"]) == ("100003", "completed")

    late = come(browser, panel, at("100004"))
    expect(late.get_by_role("heading", name="Enough people have taken part")).to_be_visible()
    _, query = go_back(late, panel)
    assert (query["survey_code"], query["outcome"]) == ("100004", "over_quota")
    assert n_people() == 3


def test_a_connect_like_round_trip_brings_back_what_came(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(annotation={**NO_WORDS, "consent": "We agree."}, **ONE_GRID)
    study = a_study(web, campaign, connect(panel.origin, places=2))
    # Connect adds its parameters by itself.
    assert "?" not in study
    visit = f"{study}?participantId={{}}&assignmentId=VISIT%26{{}}&projectId=PR1&utm_source=x"

    refuses = come(browser, panel, visit.format("PERSON-1", 1))
    refuses.get_by_role("button", name="I don't agree").click()
    path, query = go_back(refuses, panel)
    assert path == "/participant/project/7/no_consent"
    assert query == {"participantId": "PERSON-1", "assignmentId": "VISIT&1"}

    finishes = come(browser, panel, visit.format("PERSON-2", 2))
    finishes.get_by_test_id("consent-agree").click()
    do_grid(finishes)
    code = finishes.get_by_test_id("completion-code").inner_text(timeout=SLOW)
    finishes.get_by_role("button", name="Stay on this page").click()
    path, query = go_back(finishes, panel)
    assert path == "/participant/project/7/completed"
    assert query == {"participantId": "PERSON-2", "assignmentId": "VISIT&2", "code": code}

    # Back by the browser's button: nobody is sent away once more.
    finishes.go_back()
    expect(finishes.get_by_test_id("completion-code")).to_have_text(code, timeout=SLOW)
    expect(finishes.get_by_role("button", name="Stay on this page")).to_have_count(0)
    # Elsewhere the server knows them by their id.
    again = come(browser, panel, visit.format("PERSON-2", 2))
    expect(again.get_by_role("heading", name="You have done your share")).to_be_visible()
    path, query = go_back(again, panel)
    assert (path, query["code"]) == ("/participant/project/7/completed", code)

    late = come(browser, panel, visit.format("PERSON-3", 3))
    path, query = go_back(late, panel)
    assert path == "/participant/project/7/over_quota"
    assert query["participantId"] == "PERSON-3"


def test_who_is_stopped_by_a_check_is_screened_out(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(annotation=NO_WORDS, budget=12, grid_size=4, grids_per_assignment=3)
    study = a_study(web, campaign, connect(panel.origin))
    page = come(browser, panel, f"{study}?participantId=PERSON-1&assignmentId=VISIT-1")
    page.get_by_test_id("start").click()
    person = Person(page, "mouse", lambda image: image % 2)
    person.sort_grid()
    with transaction() as session:
        annotator = session.scalars(select(Annotator)).one()
        annotator.stopped_at = func.now()
    person.submit()
    expect(page.get_by_role("heading", name="Thank you, you're done here")).to_be_visible(
        timeout=SLOW
    )
    path, query = go_back(page, panel)
    assert path == "/participant/project/7/screened_out"
    assert query["participantId"] == "PERSON-1"


def test_addresses_that_cannot_be_right_say_what_to_do(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(annotation=NO_WORDS, **ONE_GRID)
    study = a_study(web, campaign, sona(panel.origin))
    bare = study.partition("?")[0]
    for address, words in (
        (bare, "doesn't say who you are"),
        (study, "not filled in"),
        (f"{bare}?survey_code=1&survey_code=2", "contains “survey_code” twice"),
        (f"{bare}?survey_code={'7' * 5_000}", "longer than 200 characters"),
        (f"{bare}?survey_code=1%00", "unreadable characters"),
        (f"{bare}?survey_code=%3Cimg src=x onerror=alert(1)%3E", "not filled in"),
        (f"{bare}?survey_code=7%0d%0aLocation:x", "unreadable characters"),
        (f"{bare}?survey_code=../../x", "is not an ID"),
    ):
        page = come(browser, panel, address)
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("Something is wrong with this page's address", timeout=SLOW)
        expect(alert).to_contain_text(words)
        expect(alert).to_contain_text("open the study from there again")
        expect(page.get_by_test_id("way-back")).to_have_count(0)
    assert violations(page) == []
    assert n_people() == 0
    # In another language, and what was wrong in English.
    page.goto(f"{bare}?lang=de")
    expect(page.get_by_role("alert")).to_contain_text("Die Adresse sagt nicht, wer Sie sind")
    # Nothing is lost: the right address opens.
    page.goto(f"{bare}?survey_code=7")
    expect(page.get_by_test_id("start")).to_be_visible(timeout=SLOW)


def test_the_same_person_twice_and_two_people_in_one_browser(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(annotation=NO_WORDS, budget=12, grid_size=4, grids_per_assignment=2)
    study = a_study(web, campaign, sona(panel.origin))
    ada, bob = (study.replace("%SURVEY_CODE%", code) for code in ("111111", "222222"))
    lab = come(browser, panel, ada)
    do_grid(lab)
    expect(lab.get_by_test_id("progress")).to_contain_text("1 of 2", timeout=SLOW)
    lab.reload()
    expect(lab.get_by_test_id("progress")).to_contain_text("1 of 2", timeout=SLOW)
    home = come(browser, panel, ada)
    expect(home.get_by_test_id("progress")).to_contain_text("1 of 2", timeout=SLOW)
    # The next one at the same computer sees nothing of it.
    lab.goto(bob)
    do_grid(lab)
    expect(lab.get_by_test_id("progress")).to_contain_text("1 of 2", timeout=SLOW)
    person = Person(home, "mouse", lambda image: image % 2)
    person.sort_grid()
    person.submit()
    expect(home.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    lab.goto(ada)
    expect(lab.get_by_role("heading", name="You have done your share")).to_be_visible()
    assert n_people() == 2
    kept = lab.evaluate("JSON.stringify({...localStorage})")
    assert "survey_code" not in kept


def test_only_named_sites_frame_the_page_and_work_is_done_there(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    campaign = a_campaign(annotation=NO_WORDS, **ONE_GRID)
    study = a_study(web, campaign, connect(panel.origin, framed_by=[panel.origin]))
    panel.studies["framed"] = f"{study}?participantId=PERSON-9&assignmentId=VISIT-9"
    page = browser.new_context().new_page()
    page.goto(f"{panel.origin}/frame/framed")
    frame = page.frame_locator("iframe")
    frame.get_by_test_id("start").click(timeout=SLOW)
    for image in range(4):
        tile = frame.locator("button[data-image]").nth(image)
        frame.locator(f"button[data-group='{image % 2}']").click()
        tile.click()
    frame.get_by_test_id("submit").click()
    expect(frame.get_by_test_id("completion-code")).to_be_visible(timeout=SLOW)
    frame.get_by_test_id("go-back").click()
    expect(frame.get_by_role("heading", name="Welcome back")).to_be_visible(timeout=SLOW)
    assert panel.last()[1]["participantId"] == "PERSON-9"
    # The page around it stays.
    expect(page.get_by_role("heading", name="Survey")).to_be_visible()
    # Another site gets nothing to show.
    other = browser.new_context().new_page()
    other.goto(f"{panel.elsewhere}/frame/framed")
    expect(other.get_by_role("heading", name="Survey")).to_be_visible()
    [inner] = other.main_frame.child_frames
    assert inner.url == "chrome-error://chromewebdata/"
    assert n_people() == 1


def test_a_requester_sets_up_a_link_for_sona(
    browser: Browser, web: System, panel: PanelSite
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, annotation=NO_WORDS, **ONE_GRID)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, web.base_url))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{web.base_url}/campaigns/{campaign.id}/recruit")
    page.get_by_role("button", name="New link").click()
    page.get_by_label("Name").first.fill("Students")
    page.get_by_text("People from a panel or another site").click()
    page.get_by_test_id("panel").select_option("sona")
    fields = page.get_by_test_id("panel-fields")
    expect(fields.get_by_label("Name").first).to_have_value("survey_code")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("alert")).to_contain_text("replace each “…”")
    credit = f"{panel.origin}/webstudy_credit.aspx?credit_token=abc&survey_code={{id}}"
    fields.get_by_label("Completed").fill(credit)
    fields.get_by_label("Sites that can show the page").fill(panel.origin)
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Create link").click()
    card = page.get_by_test_id("link").nth(1)
    expect(card.get_by_test_id("about-panel")).to_contain_text("recognized by survey_code")
    address = card.get_by_label("Address of Students for the panel").input_value()
    assert address.endswith("?survey_code=%SURVEY_CODE%")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390

    student = come(browser, panel, address.replace("%SURVEY_CODE%", "313131"))
    do_grid(student)
    _, query = go_back(student, panel)
    assert query == {"credit_token": "abc", "survey_code": "313131"}
    # What is set stays when something else is changed.
    card.get_by_role("button", name="Change").click()
    card.get_by_label("Places").fill("5")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_test_id("link-work")).to_contain_text("of 5", timeout=SLOW)
    with transaction() as session:
        link = session.scalars(select(Recruitment).where(Recruitment.name == "Students")).one()
        settings = link_settings(link.settings)
    assert settings.person == "survey_code"
    assert settings.returns.completed == credit
    assert settings.framed_by == [panel.origin]

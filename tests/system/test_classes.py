"""A campaign with classes and real processes: seven people, one of them in a browser, give each
image one of three classes; it ends by itself at its target quality."""

import csv
import io
import re
import threading

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import func, select

from app.accounts.models import Account
from app.accounts.service import create_sign_in_link
from app.annotation.models import Annotator, Answer
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.results.class_labels import read_class_labels
from app.results.service import get_model
from learning.simulation import ClassCrowd
from likewise.simulation import CrowdRun
from testbed.builders import (
    COLOURS,
    a_campaign,
    a_collection,
    an_account,
    an_api_token,
    reloaded,
)
from testbed.system import System, wait_until
from tests.support.axe import violations
from tests.support.person import SLOW, TILES, Person
from tests.system.test_loop import is_finished

pytestmark = pytest.mark.browser
N_IMAGES, ON_THE_API, GUESSER = 120, 6, 3
TARGET = 0.93
CLASSES = list(COLOURS)


def a_class_campaign(owner: Account) -> Campaign:
    return a_campaign(
        owner,
        a_collection(owner, n=N_IMAGES),
        kind="classify",
        classes=CLASSES,
        strategy="neucrowd",
        # Six answers about each image: what is not needed is not spent.
        budget=60,
        rounds=6,
        grid_size=12,
        grids_per_assignment=100,
        ready_share=0.0,
        learn_every=10_000,
        annotation={"known_attribute": "colour", "gold_share": 0.1},
        settings={"features": "features", "effort": "quick", "target": TARGET},
    )


def a_confused_crowd(truth: np.ndarray) -> ClassCrowd:
    """Red and green are easily confused; one person guesses."""
    sure, easily, hardly = 0.85, 0.11, 0.04
    confusion = [[sure, easily, hardly], [easily, sure, hardly], [0.06, 0.06, 0.88]]
    people = np.tile(np.array(confusion), (ON_THE_API, 1, 1))
    people[GUESSER] = 1 / 3
    return ClassCrowd(truth, people, unsure=0.02, random_state=1)


def work_in_the_browser(page: Page, campaign: Campaign) -> int:
    """One grid after the other, by mouse, until there are no more; returns how many."""
    person = Person(page, "mouse", lambda image: image % 3)
    done = 0
    while not is_finished(campaign):
        if page.get_by_test_id("submit").is_visible():
            before = page.get_by_test_id("progress").inner_text()
            person.sort_grid()
            page.get_by_test_id("submit").click()
            expect(page.get_by_test_id("progress")).not_to_have_text(before, timeout=SLOW)
            done += 1
        else:
            page.wait_for_timeout(100)
    return done


def test_seven_people_classify_until_the_labels_are_good_enough(
    system: System, browser: Browser
) -> None:
    owner = an_account()
    campaign = a_class_campaign(owner)
    truth = np.arange(N_IMAGES) % 3
    run = CrowdRun(
        base_url=system.base_url,
        link=annotator_link(campaign, "").removeprefix("/a/"),
        kind="classify",
        max_groups=3,
        crowd=a_confused_crowd(truth),
        seed=0,
        pace=0.3,
    )
    page = browser.new_context().new_page()
    page.goto(annotator_link(campaign, system.base_url))
    page.get_by_test_id("start").click()
    expect(page.locator(f"{TILES} img").first).to_be_visible(timeout=SLOW)
    others = threading.Thread(target=run.play)
    others.start()
    in_the_browser = work_in_the_browser(page, campaign)
    others.join(timeout=60)
    assert not others.is_alive()
    wait_until("the campaign to end", lambda: is_finished(campaign))

    ended = reloaded(campaign.id)
    with transaction() as session:
        model = get_model(session, session.get_one(Campaign, campaign.id))
        people = session.scalar(
            select(func.count(Answer.annotator_id.distinct())).where(
                Answer.campaign_id == campaign.id, Answer.submitted_at.is_not(None)
            )
        )
    labels = read_class_labels(ended, model)
    assert people == ON_THE_API + 1
    assert in_the_browser > 0
    # It asked no more than it needed, and says why it ended.
    assert ended.n_answers < ended.budget, model.metrics
    assert model.insight is not None
    assert "The target is 93.0%." in model.insight["enough"]
    assert min(model.metrics["expected_right"], model.metrics["expected_balanced"]) >= TARGET
    right = (labels.probability.argmax(axis=1) == truth).mean()
    # One run of 120 images: a standard error of 0.023.
    assert right >= TARGET - 0.05, (right, model.metrics)
    voters = model.insight["voters"]
    lease = next(entry.lease for entry in run.log if entry.annotator == GUESSER)
    with transaction() as session:
        guesser = session.scalars(
            select(Annotator.position).join(Answer).where(Answer.id == lease)
        ).one()
    assert min(voters, key=lambda voter: voter["right"])["annotator"] == guesser, voters

    headers = {"Authorization": f"Bearer {an_api_token(owner)}"}
    with httpx.Client(base_url=system.base_url, headers=headers, timeout=30) as client:
        reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/labels.csv")
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    named = [CLASSES[number] for number in labels.probability.argmax(axis=1)]
    assert [line["label"] for line in lines] == named
    the_requester_sees_it(browser, system, owner, campaign, labels.chosen().sum(axis=0).tolist())


def the_requester_sees_it(
    browser: Browser, system: System, owner: Account, campaign: Campaign, counts: list[int]
) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    with transaction() as session:
        page.goto(create_sign_in_link(session, owner, system.base_url))
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto(f"{system.base_url}/campaigns/{campaign.id}/labels")
    expect(page.get_by_test_id("outlook")).to_contain_text("has ended automatically", timeout=SLOW)
    for name, count in zip(CLASSES, counts, strict=True):
        row = page.get_by_test_id("classes").get_by_role("row", name=re.compile(f"^{name}"))
        expect(row).to_contain_text(str(count))
    images = page.get_by_test_id("labels").locator("li")
    page.get_by_test_id("class").select_option(label=f"green ({counts[1]})")
    expect(images).to_have_count(min(48, counts[1]))
    expect(images.first).to_contain_text("green")
    images.first.locator("button").click()
    expect(page.get_by_test_id("label-details")).to_contain_text("Dawid–Skene")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("confusion").locator("tbody tr")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0
    assert violations(page) == []
    assert errors == []

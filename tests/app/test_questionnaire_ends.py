"""Ways round a questionnaire, and what is owed and erased at its ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.leaving import complete_left
from app.annotation.models import Annotator, Answer, Assignment, QuestionnaireReply
from app.campaigns.models import Campaign
from app.campaigns.questions import LikertQuestion
from app.core.database import transaction
from app.recruitment.models import Payment, Recruitment
from app.recruitment.people import forget_people, known_people
from app.results.answer_groups import groups_of
from app.results.questionnaires import Replies
from testbed.builders import an_account, sign_in
from tests.app.test_annotation import a_lease, submit
from tests.app.test_consent import a_session, as_annotator, lease
from tests.app.test_questionnaire import (
    ADULT,
    EASE,
    a_questioned_campaign,
    asked,
    change,
    reply,
    work,
)
from tests.support.archives import archive_of, bring


@pytest.fixture
def campaign(environment: dict[str, str]) -> Campaign:
    return a_questioned_campaign()


def pay_links(**values: Any) -> None:
    with transaction() as session:
        session.execute(update(Recruitment).values(reward_cents=100, **values))


def test_who_is_screened_out_gets_no_grids_in_another_assignment_either(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    with transaction() as session:
        # As on a platform, where a person can hold several.
        first = session.scalars(select(Assignment)).one()
        first.external_id = "A1"
    second = a_session(client, campaign)
    assert reply(client, opened, {"age": 17, "eyes": "yes"}).json()["stage"] == "screened_out"
    refused = lease(client, second)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared")


def test_an_answer_that_another_tab_was_about_to_send_is_kept_and_paid(
    client: TestClient, campaign: Campaign
) -> None:
    pay_links()
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    who = as_annotator(opened)
    held = a_lease(client, who)
    with transaction() as session:
        session.execute(update(Assignment).values(state="screened_out"))
        session.execute(update(Answer).values(state="returned"))
    assert submit(client, who, held).status_code == 200
    with transaction() as session:
        assert session.scalars(select(Assignment.state)).one() == "completed"
        assert session.scalars(select(Payment.amount_cents)).all() == [50]


def test_who_is_at_the_last_questions_keeps_their_place(
    client: TestClient, campaign: Campaign
) -> None:
    pay_links(places=1)
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened)
    assert lease(client, opened).json()["status"] == "questions"
    with transaction() as session:
        long_ago = datetime.now(UTC) - timedelta(days=2)
        session.execute(update(Assignment).values(seen_at=None, created_at=long_ago))
    assert a_session(client, campaign, 2)["code"] == "link_full"


def test_who_leaves_when_there_are_no_more_grids_is_paid_for_their_part(
    client: TestClient, campaign: Campaign
) -> None:
    pay_links()
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened, 1)
    with transaction() as session:
        session.execute(update(Annotator).values(stopped_at=datetime.now(UTC)))
    assert lease(client, opened).json()["status"] == "questions"
    a_day_ago = datetime.now(UTC) - timedelta(hours=25)
    with transaction() as session:
        session.execute(update(Answer).values(submitted_at=a_day_ago))
        assert complete_left(session) == 0
        session.execute(update(Assignment).values(grids_over_at=a_day_ago))
        assert complete_left(session) == 1
    with transaction() as session:
        assert session.scalars(select(Payment.amount_cents)).all() == [50]


def test_questions_after_the_grids_wait_for_their_end(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    for stage in ("questions", "work"):
        refused = reply(client, opened, {"ease": 3}, "after")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared"), stage
        reply(client, opened, ADULT)
    work(client, opened)
    assert reply(client, opened, {"ease": 3}, "after").status_code == 200
    assert lease(client, opened).json()["status"] == "done"


def test_who_returned_the_assignment_cannot_change_it(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    with transaction() as session:
        session.execute(update(Assignment).values(state="returned"))
    refused = reply(client, opened, {"age": 17, "eyes": "yes"})
    assert refused.json()["code"] == "assignment_returned"
    with transaction() as session:
        assert session.scalars(select(Assignment.state)).one() == "returned"


def test_a_scale_of_another_length_is_asked_again_and_grouped_apart(
    client: TestClient, environment: dict[str, str]
) -> None:
    before = {**EASE, "points": 5}
    campaign = a_questioned_campaign(questions_before=[before], questions_after=[])
    opened = a_session(client, campaign)
    reply(client, opened, {"ease": 4})
    change(client, campaign, questions_before=[EASE])
    assert [question["key"] for question in asked(client, opened)["questions"]] == ["ease"]
    five = {"key": "ease", "points": 5}
    replies = {0: Replies(answers={"ease": 4}, asked={"ease": five})}
    replies[1] = Replies(answers={"ease": 7}, asked={"ease": {**five, "points": 7}})
    groups = groups_of(LikertQuestion.model_validate(EASE), replies)
    assert sorted(who for group in groups for who in group.people) == [1]


def test_answers_in_a_restored_campaign_can_be_forgotten(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened)
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    archive = archive_of(client, campaign)
    other = an_account("other@example.org")
    sign_in(client, other)
    assert bring(client, archive).status_code in (200, 201)
    with transaction() as session:
        restored = session.scalars(select(Campaign).where(Campaign.owner_id == other.id)).one()
        assert known_people(session, other, restored.id).people == 1
        assert forget_people(session, other, restored.id).people == 1
    with transaction() as session:
        left = (
            select(func.count())
            .select_from(QuestionnaireReply)
            .join(Annotator, QuestionnaireReply.annotator_id == Annotator.id)
            .where(Annotator.campaign_id == restored.id)
        )
        assert session.scalar(left) == 0

"""Questionnaires: every reply is to one version, is taken once, and decides who takes part."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from app.accounts.models import Account
from app.annotation.leaving import complete_left
from app.annotation.models import (
    Annotator,
    Answer,
    Assignment,
    Questionnaire,
    QuestionnaireReply,
)
from app.campaigns.models import Campaign
from app.core.database import transaction
from app.recruitment.models import Payment, Recruitment
from app.recruitment.people import forget_old
from app.results.questionnaires import QuestionnaireColumns
from testbed.builders import a_campaign, an_account, sign_in
from tests.app.test_annotation import a_lease, submit
from tests.app.test_consent import a_session, as_annotator, lease
from tests.conftest import forget_settings
from tests.support.questions import AGE

EYES = {"key": "eyes", "type": "choice", "title": "Do you see colours?",
        "choices": ["yes", "no", "not sure"], "screen_out": ["no"]}  # fmt: skip
WHY = {"key": "why", "type": "text", "title": "Anything else?", "required": False,
       "max_length": 20}  # fmt: skip
NOTE = {"key": "note", "type": "text", "title": "A note?", "required": False}
EASE = {"key": "ease", "type": "likert", "title": "How easy was it?", "points": 7}
PETS = {"key": "pets", "type": "choice", "title": "Which pets?", "choices": ["cat", "dog", "eel"],
        "multiple": True}  # fmt: skip
BEFORE, AFTER = [AGE, EYES], [EASE, WHY]
ADULT = {"age": 30, "eyes": "yes"}


def a_questioned_campaign(**changes: Any) -> Campaign:
    settings = {"questions_before": BEFORE, "questions_after": AFTER, "show_instructions": False}
    return a_campaign(budget=60, grids_per_assignment=2, annotation={**settings, **changes})


def asked(client: TestClient, opened: dict[str, Any], place: str = "before") -> Any:
    return client.get(f"/api/v1/annotate/questions/{place}", headers=as_annotator(opened)).json()


def reply(
    client: TestClient, opened: dict[str, Any], answers: dict[str, Any], place: str = "before",
    key: str = "",
) -> Any:  # fmt: skip
    body = {"key": key or asked(client, opened, place)["key"], "answers": answers}
    path = f"/api/v1/annotate/questions/{place}"
    return client.post(path, json=body, headers=as_annotator(opened))


def change(client: TestClient, campaign: Campaign, **settings: Any) -> Any:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return client.patch(f"/api/v1/campaigns/{campaign.id}/annotation", json=settings)


def work(client: TestClient, opened: dict[str, Any], n: int = 2) -> None:
    for _ in range(n):
        who = as_annotator(opened)
        assert submit(client, who, a_lease(client, who)).status_code == 200


def stored() -> list[tuple[int, str, int, dict[str, Any]]]:
    """Annotator, place, version and answers of every reply."""
    query = (
        select(
            Annotator.position, Questionnaire.place, Questionnaire.version,
            QuestionnaireReply.answers,
        )
        .join(Annotator, QuestionnaireReply.annotator_id == Annotator.id)
        .join(Questionnaire, QuestionnaireReply.questionnaire_id == Questionnaire.id)
        .order_by(QuestionnaireReply.answered_at)
    )  # fmt: skip
    with transaction() as session:
        return [
            (who, place, version, given) for who, place, version, given in session.execute(query)
        ]


@pytest.fixture
def campaign(environment: dict[str, str]) -> Campaign:
    return a_questioned_campaign()


def test_the_way_goes_over_both_questionnaires_to_the_code(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    assert (opened["stage"], opened["next"]) == ("questions", None)
    assert lease(client, opened).json()["code"] == "not_prepared"
    page = asked(client, opened)
    assert [question["key"] for question in page["questions"]] == ["age", "eyes"]
    # Nobody is told what would screen them out.
    assert "screen_out" not in str(page)
    assert reply(client, opened, ADULT).json()["stage"] == "work"
    work(client, opened)
    handout = lease(client, opened).json()
    assert (handout["status"], handout["completion_code"]) == ("questions", None)
    # After a reload, the questions come again, and not the code.
    again = a_session(client, campaign)
    assert (again["stage"], again["next"]["status"]) == ("work", "questions")
    assert reply(client, opened, {"ease": 7, "why": " "}, "after").status_code == 200
    handout = lease(client, opened).json()
    assert handout["status"] == "done"
    assert handout["completion_code"]
    assert stored() == [(0, "before", 1, ADULT), (0, "after", 1, {"ease": 7})]


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"eyes": "yes"}, "“How old are you?” needs an answer."),
        ({"age": "", "eyes": "yes"}, "“How old are you?” needs an answer."),
        ({"age": 130, "eyes": "yes"}, "“How old are you?”: enter at most 120."),
        ({"age": 30.5, "eyes": "yes"}, "“How old are you?”: enter a whole number."),
        ({"age": "thirty", "eyes": "yes"}, "“How old are you?”: enter a number."),
        ({"age": 30, "eyes": "blue"}, "“Do you see colours?”: choose from what is offered."),
        ({"age": 30, "eyes": ["yes"]}, "“Do you see colours?”: choose from what is offered."),
        ({**ADULT, "more": 1}, "There is no question with the key 'more' here."),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_its_question(
    client: TestClient, campaign: Campaign, answers: dict[str, Any], problem: str
) -> None:
    opened = a_session(client, campaign)
    refused = reply(client, opened, answers)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_answers")
    assert refused.json()["detail"] == problem
    assert stored() == []
    assert a_session(client, campaign)["stage"] == "questions"


def test_two_tabs_and_double_clicks_are_one_reply(client: TestClient, campaign: Campaign) -> None:
    people = [a_session(client, campaign, number % 4) for number in range(12)]
    key = asked(client, people[0])["key"]
    with ThreadPoolExecutor(6) as pool:
        replies = list(
            pool.map(
                lambda number: reply(
                    client, people[number], {**ADULT, "age": 20 + number}, key=key
                ),
                range(12),
            )
        )
    assert {(sent.status_code, sent.json()["stage"]) for sent in replies} == {(200, "work")}
    assert sorted(who for who, *_ in stored()) == [0, 1, 2, 3]
    with transaction() as session:
        assert session.scalar(select(func.count()).select_from(Questionnaire)) == 1
    # What was answered first counts: a later tab does not change it.
    before = stored()
    assert reply(client, people[0], {"age": 99, "eyes": "yes"}).status_code == 200
    assert stored() == before


def test_consent_comes_first(client: TestClient) -> None:
    campaign = a_questioned_campaign(consent="Words.")
    opened = a_session(client, campaign)
    assert opened["stage"] == "consent"
    assert reply(client, opened, ADULT).json()["code"] == "not_prepared"
    assert stored() == []


def test_only_a_required_question_without_an_answer_is_asked_again(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    first = asked(client, opened)["key"]
    reply(client, opened, ADULT)
    # Other words, another rule, or an optional question: nobody is asked again.
    reworded = [{**AGE, "title": "Your age?", "screen_out_below": 21}, EYES, NOTE]
    assert change(client, campaign, questions_before=reworded).status_code == 200
    assert a_session(client, campaign)["stage"] == "work"
    # A newcomer answers the new version.
    newcomer = a_session(client, campaign, 2)
    assert reply(client, newcomer, ADULT, key=first).json()["code"] == "questions_changed"
    assert reply(client, newcomer, ADULT).json()["stage"] == "work"
    # A required question is new: only that one is asked, before the next grid.
    assert change(client, campaign, questions_before=[*BEFORE, PETS]).status_code == 200
    assert lease(client, opened).json()["code"] == "not_prepared"
    assert [question["key"] for question in asked(client, opened)["questions"]] == ["pets"]
    assert reply(client, opened, {"pets": ["eel", "cat"]}).json()["stage"] == "work"
    assert stored() == [
        (0, "before", 1, ADULT),
        (1, "before", 2, ADULT),
        (0, "before", 3, {"pets": ["cat", "eel"]}),
    ]


def test_an_answer_that_no_longer_fits_is_asked_again(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    reply(client, opened, {"age": 30, "eyes": "not sure"})
    change(client, campaign, questions_before=[AGE, {**EYES, "choices": ["yes", "no", "rarely"]}])
    assert [question["key"] for question in asked(client, opened)["questions"]] == ["eyes"]
    # The earlier version is the one that was answered.
    change(client, campaign, questions_before=BEFORE)
    assert a_session(client, campaign)["stage"] == "work"


def test_who_is_screened_out_gets_no_grid_and_no_second_try(
    client: TestClient, campaign: Campaign
) -> None:
    change(client, campaign, screen_out_text="Thank you, *friend*.")
    opened = a_session(client, campaign)
    assert opened["campaign"]["screen_out_html"] == "<p>Thank you, <em>friend</em>.</p>\n"
    state = reply(client, opened, {"age": 17, "eyes": "yes"}).json()
    assert (state["stage"], state["screened_out_by_answers"]) == ("screened_out", True)
    for _ in range(2):
        again = a_session(client, campaign)
        assert (again["stage"], again["next"]) == ("screened_out", None)
        assert again["token"]
        assert lease(client, again).json()["code"] == "not_prepared"
        assert reply(client, again, ADULT).json()["stage"] == "screened_out"
    # Their answers are not kept, only which question it was.
    with transaction() as session:
        row = session.scalars(select(QuestionnaireReply)).one()
        assert (row.answers, row.screened_out_by) == ({}, ["age"])
        assignment = session.scalars(select(Assignment)).one()
        assert assignment.state == "screened_out"
        assert session.scalar(select(func.count()).select_from(Payment)) == 0


def test_the_place_of_a_screened_out_person_is_free(client: TestClient, campaign: Campaign) -> None:
    with transaction() as session:
        session.execute(update(Recruitment).values(places=1, reward_cents=100))
    opened = a_session(client, campaign)
    assert a_session(client, campaign, 2)["code"] == "link_full"
    reply(client, opened, {"age": 30, "eyes": "no"})
    other = a_session(client, campaign, 2)
    assert other["stage"] == "questions"
    assert reply(client, other, ADULT).json()["stage"] == "work"
    # The place is taken now; the first person still sees the thanks and nothing else.
    assert a_session(client, campaign)["stage"] == "screened_out"
    assert a_session(client, campaign, 3)["code"] == "link_full"


def test_who_has_worked_before_a_new_question_screens_them_out_is_paid(
    client: TestClient, campaign: Campaign
) -> None:
    with transaction() as session:
        session.execute(update(Recruitment).values(reward_cents=100))
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened, 1)
    change(client, campaign, questions_before=[*BEFORE, {**PETS, "screen_out": ["eel"]}])
    assert reply(client, opened, {"pets": ["eel"]}).status_code == 200
    handout = lease(client, opened).json()
    assert handout["status"] == "stopped"
    assert handout["completion_code"]
    with transaction() as session:
        assert session.scalars(select(Payment.amount_cents)).all() == [50]


def test_who_leaves_at_the_last_questions_is_paid_after_a_day(
    client: TestClient, campaign: Campaign
) -> None:
    with transaction() as session:
        session.execute(update(Recruitment).values(reward_cents=100))
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened)
    with transaction() as session:
        assert complete_left(session) == 0
        session.execute(update(Answer).values(submitted_at=datetime.now(UTC) - timedelta(hours=25)))
    with transaction() as session:
        assert complete_left(session) == 1
    with transaction() as session:
        assert session.scalars(select(Payment.amount_cents)).all() == [100]
        assert session.scalars(select(Assignment.state)).all() == ["completed"]
        assert complete_left(session) == 0


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ([{**AGE, "key": "Age"}], "begins with a letter"),
        ([AGE, AGE], "two questions have the key 'age'"),
        ([{**AGE, "min": 5, "max": 4}], "the minimum 5 is above the maximum 4"),
        ([{**AGE, "screen_out_above": 10}], "nobody could take part"),
        ([{**EYES, "choices": ["yes", "yes"]}], "only once"),
        ([{**EYES, "choices": ["a;b", "no"]}], "can't contain ';'"),
        ([{**EYES, "screen_out": ["maybe"]}], "is not a choice"),
        ([{**EYES, "screen_out": EYES["choices"]}], "must let people take part"),
        ([{**EASE, "points": 10}], "less than or equal to 9"),
        ([{**AGE, "type": "date"}], "type"),
        ([{**WHY, "key": f"q{number}"} for number in range(31)], "at most 30"),
    ],
)
def test_a_questionnaire_that_makes_no_sense_is_refused(
    client: TestClient, campaign: Campaign, questions: list[dict[str, Any]], problem: str
) -> None:
    refused = change(client, campaign, questions_before=questions)
    assert refused.status_code == 422
    assert "Questions before the grids" in refused.text or "annotation" in refused.text
    assert problem in refused.json()["detail"]


def test_questions_after_the_grids_screen_nobody_out(
    client: TestClient, campaign: Campaign
) -> None:
    refused = change(client, campaign, questions_before=[], questions_after=[AGE])
    assert "only questions before the grids can" in refused.json()["detail"]


def exported(client: TestClient, campaign: Campaign, name: str) -> str:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    file = client.get(f"/api/v1/campaigns/{campaign.id}/export/{name}")
    assert file.status_code == 200, file.text
    return file.text


def test_exports_have_the_last_answers_and_all_questions_as_they_were(
    client: TestClient, campaign: Campaign
) -> None:
    opened = a_session(client, campaign)
    reply(client, opened, ADULT)
    work(client, opened)
    reply(client, opened, {"ease": 2, "why": "=cmd()"}, "after")
    change(client, campaign, questions_before=[*BEFORE, PETS])
    other = a_session(client, campaign, 2)
    reply(client, other, {**ADULT, "age": 40, "pets": ["dog", "cat"]})
    reply(client, a_session(client, campaign, 3), {"age": 4, "eyes": "no", "pets": ["cat"]})
    assert exported(client, campaign, "questionnaire.csv").splitlines() == [
        "annotator,questionnaire_before,questionnaire_after,screened_out,"
        "q_age,q_eyes,q_pets,q_ease,q_why",
        "0,1,1,False,30,yes,,2,'=cmd()",
        "1,2,,False,40,yes,cat;dog,,",
        "2,2,,True,,,,,",
    ]
    lines = exported(client, campaign, "questionnaires.jsonl").splitlines()
    texts = [json.loads(line) for line in lines]
    assert [
        (text["place"], text["version"], text["n_answered"], text["n_screened_out"])
        for text in texts
    ] == [("before", 1, 1, 0), ("before", 2, 2, 1), ("after", 1, 1, 0)]
    assert [question["key"] for question in texts[1]["questions"]] == ["age", "eyes", "pets"]
    assert texts[0]["questions"][0]["title"] == "How old are you?"


def test_a_table_of_annotators_has_the_answers_and_is_the_same_without(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    with transaction() as session:
        assert QuestionnaireColumns(session, campaign).names == []
        assert QuestionnaireColumns(session, campaign).of(0) == []
    questioned = a_campaign(owner, annotation={"questions_before": BEFORE})
    reply(client, a_session(client, questioned), ADULT)
    with transaction() as session:
        columns = QuestionnaireColumns(session, questioned)
        assert columns.names == ["questionnaire_before", "questionnaire_after", "q_age", "q_eyes"]
        assert (columns.of(0), columns.of(7)) == (["1", "", "30", "yes"], ["", "", "", ""])


def test_forgetting_a_person_forgets_their_answers(client: TestClient, campaign: Campaign) -> None:
    for number in (1, 2, 3):
        reply(client, a_session(client, campaign, number), ADULT)
    exported(client, campaign, "questionnaire.csv")
    people = f"/api/v1/campaigns/{campaign.id}/people"
    assert client.get(people).json()["people"] == 3
    both = client.post(f"{people}/forget", json={"annotator": 1, "platform_id": "x"})
    assert both.status_code == 422
    assert client.post(f"{people}/forget", json={"annotator": 1}).json()["forgotten"] == 1
    assert client.post(f"{people}/forget", json={"annotator": 1}).status_code == 404
    assert [who for who, *_ in stored()] == [0, 2]
    # They are not asked again, and work goes on.
    assert a_session(client, campaign, 2)["stage"] == "work"
    assert client.post(f"{people}/forget", json={}).json() == {"forgotten": 2, "kept": 0}
    assert stored() == []
    assert exported(client, campaign, "questionnaire.csv").count("\n") == 1


def test_answers_are_forgotten_with_identities_a_while_after_the_end(
    client: TestClient, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply(client, a_session(client, campaign), ADULT)
    monkeypatch.setenv("LIKEWISE_RETENTION_DAYS", "30")
    forget_settings()
    with transaction() as session:
        assert forget_old(session) == 0
        row = session.get_one(Campaign, campaign.id)
        row.state, row.finished_at = "finished", datetime.now(UTC) - timedelta(days=31)
    with transaction() as session:
        assert forget_old(session) == 1
    assert stored() == []

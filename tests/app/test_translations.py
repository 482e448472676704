"""The question and the requester's other texts in several languages."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.annotation.catalogues import page_language
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.changes import clone_campaign
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.service import start_campaign
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.core.languages import NAMES, first_accepted
from testbed.builders import a_campaign, a_draft, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, submit

GERMAN = {"question": "Was gehört zusammen?", "instructions": "Sortiere *alle*.", "consent": "Ja?"}
ARABIC = {"question": "ما الذي ينتمي معًا؟"}
TEXTS: dict[str, Any] = {
    "consent": "Yes?",
    "thanks": "Thank you.",
    "text_language": "en",
    "translations": {"de": GERMAN, "ar": ARABIC},
}


def a_translated_campaign(owner: Account | None = None, **plan: Any) -> Campaign:
    values: dict[str, Any] = {"annotation": TEXTS, "question": "What?", "budget": 40, **plan}
    return a_campaign(owner, **values)


def opened(
    client: TestClient, campaign: Campaign, language: str | None, number: int = 1
) -> dict[str, Any]:
    link = annotator_link(campaign, "").removeprefix("/a/")
    body: dict[str, Any] = {"link": link, "annotator_key": f"annotator-{number:06d}"}
    if language is not None:
        body["language"] = language
    reply = client.post("/api/v1/annotate/sessions", json=body)
    assert reply.status_code == 201, reply.text
    session: dict[str, Any] = reply.json()
    return session


def agree(client: TestClient, session: dict[str, Any]) -> dict[str, str]:
    who = {"Authorization": f"Bearer {session['token']}"}
    body = {"step": "consent", "consent_key": session["campaign"]["consent_key"]}
    reply = client.post("/api/v1/annotate/steps", json=body, headers=who)
    assert reply.json()["stage"] == "instructions", reply.text
    return who


def change(client: TestClient, campaign: Campaign, **values: Any) -> Any:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return client.patch(f"/api/v1/campaigns/{campaign.id}/annotation", json=values)


def test_people_read_their_language_and_the_own_text_in_its_place(client: TestClient) -> None:
    campaign = a_translated_campaign()
    shown = opened(client, campaign, "de")["campaign"]
    assert shown["question"] == GERMAN["question"]
    assert shown["instructions_html"] == "<p>Sortiere <em>alle</em>.</p>\n"
    german, english = {"lang": "de", "dir": "ltr"}, {"lang": "en", "dir": "ltr"}
    assert shown["languages"]["question"] == german
    # What is not translated says in which language it is.
    assert (shown["thanks_html"], shown["languages"]["thanks"]) == (
        "<p>Thank you.</p>\n", english,
    )  # fmt: skip
    arabic = opened(client, campaign, "ar")["campaign"]
    assert arabic["languages"]["question"] == {"lang": "ar", "dir": "rtl"}
    assert (arabic["consent_html"], arabic["languages"]["consent"]) == ("<p>Yes?</p>\n", english)
    for language in (None, "", "fr", "en", "x" * 20):
        assert opened(client, campaign, language)["campaign"]["question"] == "What?"


def test_of_texts_in_an_unknown_language_the_browser_finds_the_direction(
    client: TestClient,
) -> None:
    shown = opened(client, a_campaign(), "de")["campaign"]
    assert shown["languages"]["question"] == {"lang": None, "dir": "auto"}


def test_markdown_of_translations_is_harmless(client: TestClient) -> None:
    text = "<script>ran(1)</script>[a](javascript:ran(2))"
    campaign = a_campaign(annotation={"translations": {"de": {"instructions": text}}})
    html = opened(client, campaign, "de")["campaign"]["instructions_html"]
    assert "<script" not in html
    assert "href" not in html


def test_people_agree_to_the_text_that_they_read(client: TestClient) -> None:
    campaign = a_translated_campaign()
    german, english = opened(client, campaign, "de"), opened(client, campaign, "en", 2)
    assert german["campaign"]["consent_key"] != english["campaign"]["consent_key"]
    who = agree(client, german)
    agree(client, english)
    # Somebody who changes the language has agreed already.
    assert opened(client, campaign, "ar")["stage"] == "instructions"
    # A new German text is for those who read German.
    texts = {**TEXTS["translations"], "de": {**GERMAN, "consent": "Wirklich?"}}
    assert change(client, campaign, translations=texts).status_code == 200
    assert client.post("/api/v1/annotate/leases", headers=who).json()["code"] == "not_prepared"
    assert opened(client, campaign, "de")["stage"] == "consent"
    assert opened(client, campaign, "en", 2)["stage"] == "instructions"
    rows = csv.DictReader(
        io.StringIO(client.get(f"/api/v1/campaigns/{campaign.id}/export/consent.csv").text)
    )
    assert [(row["annotator"], row["version"]) for row in rows] == [("0", "1"), ("1", "2")]


def test_a_consent_text_in_one_language_alone_asks_nobody(client: TestClient) -> None:
    campaign = a_campaign(annotation={"translations": {"de": {"consent": "Ja?"}}})
    session = opened(client, campaign, "de")
    assert (session["stage"], session["campaign"]["consent_html"]) == ("instructions", "")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"translations": {"xx": {}}}, "'xx' is not a language"),
        ({"translations": {"en": {}}}, "'en' is the language of the campaign's own texts"),
        ({"translations": {"de": {"name": "x"}}}, "translations.de.name"),
        ({"translations": {"de": {"question": "x" * 2001}}}, "translations.de.question"),
        ({"translations": {"fr": {"consent": "x" * 20_001}}}, "translations.fr.consent"),
        ({"text_language": "xx"}, "text_language"),
        ({"translations": {"fr": {"classes": {"cat": "chat"}}}}, "fr: there is no class 'cat'"),
        (
            {"translations": {code: {"thanks": 20_000 * "x"} for code in list(NAMES)[9:15]}},
            "120,000 characters",
        ),
        ({"translations": {code: {} for code in list(NAMES)[9:30]}}, "at most 20"),
    ],
)
def test_what_is_wrong_is_refused_by_name(
    client: TestClient, values: dict[str, Any], words: str
) -> None:
    campaign = a_translated_campaign()
    reply = change(client, campaign, **values)
    assert (reply.status_code, reply.json()["code"]) == (422, "bad_annotation")
    assert words in reply.json()["detail"]
    assert reloaded(campaign.id).annotation["translations"]["de"]["question"] == GERMAN["question"]


def test_a_question_that_was_asked_stays_in_every_language(client: TestClient) -> None:
    campaign = a_translated_campaign()
    before = TEXTS["translations"]
    for after in ({"ar": ARABIC}, {**before, "de": {**GERMAN, "question": "Und nun?"}}):
        reply = change(client, campaign, translations=after)
        assert (reply.status_code, reply.json()["code"]) == (409, "frozen"), reply.text
        assert "de" in reply.json()["detail"]
    # Other texts follow the rules of their own, and answers tell a new language.
    french = {"question": "Quoi ?"}
    after = {**before, "de": {**GERMAN, "instructions": "Neu."}, "fr": french}
    assert change(client, campaign, translations=after).status_code == 200
    shown = opened(client, campaign, "fr")["campaign"]
    assert (shown["question"], shown["languages"]["question"]["lang"]) == ("Quoi ?", "fr")


def test_answers_say_in_which_language_the_question_was_read(client: TestClient) -> None:
    campaign = a_translated_campaign()
    who = agree(client, opened(client, campaign, "de"))
    device = {"width": 9, "height": 9, "ratio": 1, "pointer": "fine", "language": "en"}
    submit(client, who, a_lease(client, who), device={**device, "question_language": "de"})
    # Older pages do not say.
    submit(client, who, a_lease(client, who), device=device)
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    base = f"/api/v1/campaigns/{campaign.id}/export"
    traces = client.get(f"{base}/traces.jsonl").text.splitlines()
    assert [json.loads(line)["device"]["question_language"] for line in traces] == ["de", ""]
    answers = client.get(f"{base}/answers.jsonl").text.splitlines()
    assert [json.loads(line)["question_language"] for line in answers] == ["de", None]
    lines = csv.DictReader(io.StringIO(client.get(f"{base}/answers.csv").text))
    assert {row["question_language"] for row in lines} == {"de", ""}


def a_named_campaign(
    owner: Account,
    names: dict[str, str],
    build: Callable[..., Campaign] = a_campaign,
) -> Campaign:
    values: dict[str, Any] = {
        "kind": "classify",
        "classes": ["cat", "dog"],
        "max_groups": 2,
        "strategy": "neucrowd",
        "annotation": {"translations": {"de": {"question": "Was?", "classes": names}}},
    }
    return build(owner, **values)


def german_names(campaign: Campaign) -> dict[str, str]:
    names: dict[str, str] = reloaded(campaign.id).annotation["translations"]["de"]["classes"]
    return names


def changed_plan(client: TestClient, campaign: Campaign, **values: Any) -> Any:
    with transaction() as session:
        sign_in(client, session.get_one(Account, campaign.owner_id))
    return client.patch(f"/api/v1/campaigns/{campaign.id}", json=values)


def test_classes_are_named_in_each_language(client: TestClient) -> None:
    campaign = a_named_campaign(an_account(), {"cat": " Katze ", "dog": ""})
    assert opened(client, campaign, "de")["campaign"]["classes"] == ["Katze", "dog"]
    assert opened(client, campaign, "ar")["campaign"]["classes"] == ["cat", "dog"]


def test_a_name_goes_with_its_class(client: TestClient) -> None:
    """Classes of a draft may be swapped, removed and added: no image gets another's name."""
    draft = a_named_campaign(an_account(), {"cat": "Katze", "dog": "Hund"}, a_draft)
    for classes in (["dog", "cat"], ["dog", "bird"]):
        reply = changed_plan(client, draft, classes=classes)
        assert reply.status_code == 200, reply.text
    assert german_names(draft) == {"dog": "Hund"}
    assert changed_plan(client, draft, kind="select").status_code == 200
    assert german_names(draft) == {}


def test_names_of_a_started_campaign_keep_their_meaning(client: TestClient) -> None:
    campaign = a_named_campaign(an_account(), {"cat": "Katze", "dog": "Hund"})
    for names in ({"cat": "Hund", "dog": "Katze"}, {"cat": "hund", "dog": "Welpe"}):
        reply = change(
            client, campaign, translations={"de": {"question": "Was?", "classes": names}}
        )
        assert (reply.status_code, reply.json()["code"]) == (409, "frozen"), reply.text
    better = {"de": {"question": "Was?", "classes": {"cat": "Kater", "dog": "Hund"}}}
    assert change(client, campaign, translations=better).status_code == 200
    # Another name of their own keeps those in other languages.
    reply = changed_plan(client, campaign, classes=["tomcat", "dog"])
    assert reply.status_code == 200, reply.text
    assert german_names(campaign) == {"tomcat": "Kater", "dog": "Hund"}
    assert opened(client, campaign, "de")["campaign"]["classes"] == ["Kater", "Hund"]


def test_an_own_name_that_another_language_has_is_refused(client: TestClient) -> None:
    campaign = a_named_campaign(an_account(), {"cat": "Katze"})
    reply = changed_plan(client, campaign, classes=["cat", "katze"])
    assert reply.status_code == 422, reply.text
    assert "de: two classes would have the same name" in reply.json()["detail"]
    assert change(client, campaign, thanks="Thank you").status_code == 200


def test_a_draft_from_before_there_were_languages_starts(client: TestClient) -> None:
    draft = a_draft()
    with transaction() as session:
        stored = session.get_one(Campaign, draft.id)
        new = {"translations", "text_language", "alt_text_attribute", "quick_pause"}
        stored.annotation = {k: v for k, v in stored.annotation.items() if k not in new}
        sign_in(client, session.get_one(Account, stored.owner_id))
    reply = client.post(f"/api/v1/campaigns/{draft.id}/actions/start")
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"bird": "Vogel"}, "de: there is no class 'bird'. The classes are cat, dog."),
        ({"cat": "DOG"}, "de: two classes would have the same name"),
        ({"cat": "x" * 41}, "at most 40"),
    ],
)
def test_names_of_classes_fit_the_classes(
    environment: dict[str, str], names: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        a_named_campaign(an_account(), names)


def test_a_copy_has_the_translations_and_can_start(environment: dict[str, str]) -> None:
    owner = an_account()
    campaign = a_translated_campaign(owner)
    with transaction() as session:
        copy = clone_campaign(session, owner, campaign.id)
        assert copy.annotation["translations"] == campaign.annotation["translations"]
        start_campaign(session, owner, copy.id)


@pytest.mark.parametrize(
    ("asked", "accepted", "own", "interface", "reading"),
    [
        ("", "fr-CH,de;q=0.8", "", "de", "fr"),
        ("", "de,fr;q=0.8", "", "de", "de"),
        ("", "ja", "", "en", "en"),
        # English buttons do not outweigh a text that somebody reads.
        ("", "en,fr;q=0.5", "es", "en", "fr"),
        ("", "en,fr;q=0.5", "en", "en", "en"),
        ("", "es-MX", "es", "en", "es"),
        ("fr", "de", "", "de", "fr"),
        ("ar", "de", "", "ar", "ar"),
        ("es", "de", "", "de", "de"),
    ],
)
def test_the_language_of_texts_is_chosen(
    asked: str, accepted: str, own: str, interface: str, reading: str
) -> None:
    settings = AnnotationSettings.model_validate(
        {"text_language": own, "translations": {"fr": {"question": "Quoi ?"}}}
    )
    chosen = page_language(asked, settings, accepted)
    assert (chosen.interface, chosen.reading) == (interface, reading)


def test_a_campaigns_language_is_for_everyone_who_asks_for_no_other() -> None:
    values = {"language": "de", "translations": {"fr": {"question": "Quoi ?"}}}
    settings = AnnotationSettings.model_validate(values)
    assert page_language("", settings, "fr").reading == "de"
    assert page_language("fr", settings, "fr").reading == "fr"


@pytest.mark.parametrize(
    ("accepted", "available", "language"),
    [
        ("zh-TW,zh;q=0.9", "zh-Hans zh-Hant", "zh-Hant"),
        ("zh", "zh-Hans zh-Hant", "zh-Hans"),
        ("zh-Hant-HK", "zh-Hans zh-Hant", "zh-Hant"),
        ("pt-BR", "pt", "pt"),
        ("pt-PT", "pt-BR", "pt-BR"),
        ("nb-NO", "no en", "no"),
        ("*", "en", None),
    ],
)
def test_browsers_name_languages_in_several_ways(
    accepted: str, available: str, language: str | None
) -> None:
    assert first_accepted(accepted, available.split()) == language


def test_the_page_offers_all_languages_and_the_preview_shows_them(client: TestClient) -> None:
    owner = an_account()
    french = {"fr": {"question": "Quoi ?"}}
    campaign = a_translated_campaign(owner, annotation={"translations": french})
    page = client.get(annotator_link(campaign, ""), headers={"Accept-Language": "fr"}).text
    assert 'lang="en" dir="ltr" data-reading="fr"' in page
    assert "fran\\u00e7ais" in page
    sign_in(client, owner)
    preview = client.get(f"/campaigns/{campaign.id}/preview?lang=fr").text
    assert "Quoi ?" in preview.replace("\\u00a0", " ")

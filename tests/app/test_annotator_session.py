"""Around the grids: a requester's settings and texts, remarks, leases ahead, languages."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.annotation.catalogues import choose_language
from app.annotation.models import Answer, Remark
from app.campaigns.annotation_settings import annotation_of
from app.core.database import locked, transaction
from app.core.errors import InvalidInput
from app.core.markdown import render_markdown
from app.results.dataset import load_learning_data
from testbed.builders import a_campaign, an_account, reloaded, sign_in
from tests.app.test_annotation import a_lease, a_session, expire, submit

# --- what a requester may set ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"gold_share": 0.9}, "gold_share"),
        ({"practice": -1}, "practice"),
        ({"colour": "blue"}, "colour"),
        ({"completion_url": "javascript:alert(1)"}, "https://"),
        ({"language": "xx"}, "language"),
        ({"measures": ["shout"]}, "measures"),
        ({"known_attribute": "smell"}, "smell"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    environment: dict[str, str], values: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        a_campaign(annotation=values)


def test_texts_may_change_while_people_work_and_wrong_ones_change_nothing(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    sign_in(client, owner)
    address = f"/api/v1/campaigns/{campaign.id}/annotation"
    assert client.patch(address, json={"thanks": "Bye"}).json()["thanks"] == "Bye"
    refused = client.patch(address, json={"thanks": "Hi", "gold_share": 2})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_annotation")
    assert annotation_of(reloaded(campaign.id).annotation).thanks == "Bye"
    for share in ("", "x", None):
        refused = client.patch(address, json={"gold_share": share})
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_annotation")
        assert refused.json()["words"] == "Share of gold grids: enter a number."
    page = client.get(f"/campaigns/{campaign.id}/annotation", headers={"accept": "text/html"})
    assert "Bye" in page.text
    form = {"thanks": "From the form", "repeat_share": "5", "practice": "x", "practice_pass": "300"}
    shown = client.post(f"/campaigns/{campaign.id}/annotation", data=form)
    assert shown.status_code == 422
    # What is wrong is said in words of the page; all else is saved.
    assert "Not saved: Practice grids, Agreement needed to pass practice." in shown.text
    assert "Practice grids: enter a whole number." in shown.text
    assert "Agreement needed to pass practice: at most 100 %." in shown.text
    assert 'value="300"' in shown.text
    stored = annotation_of(reloaded(campaign.id).annotation)
    assert (stored.thanks, stored.repeat_share, stored.practice) == ("From the form", 0.05, 0)
    saved = client.post(
        f"/campaigns/{campaign.id}/annotation",
        data={"thanks": "Again", "measures": ["stop", "warn"]},
        follow_redirects=False,
    )
    assert saved.status_code == 303
    settings = annotation_of(reloaded(campaign.id).annotation)
    assert (settings.thanks, settings.measures) == ("Again", ["warn", "stop"])
    assert settings.show_instructions is False


def test_markdown_of_requesters_is_harmless() -> None:
    html = render_markdown(
        "# Title\n<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n"
        "[a](javascript:alert(1)) [b](https://example.org) ![c](https://example.org/x.png)"
    )
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "<h2>Title</h2>" in html
    assert 'target="_blank"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


# --- around the grids ------------------------------------------------------------------------


def test_remarks_are_kept_and_broken_images_are_not_learned_from(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    image = lease["images"][2]["image"]
    body = {"kind": "broken_image", "lease_id": lease["id"], "image": image}
    assert client.post("/api/v1/annotate/remarks", json=body, headers=who).status_code == 204
    other = next(k for k in range(30) if k not in [shown["image"] for shown in lease["images"]])
    refused = client.post("/api/v1/annotate/remarks", json={**body, "image": other}, headers=who)
    assert refused.json()["code"] == "unknown_images"
    refused = submit(client, who, lease, unseen=[other])
    assert refused.json()["code"] == "unknown_images"
    assert submit(client, who, lease, unseen=[image]).status_code == 200
    with transaction() as session:
        data = load_learning_data(session, reloaded(campaign.id))
        assert session.scalar(select(func.count()).select_from(Remark)) == 1
    assert image not in data.rounds[0].images
    assert (data.rounds[0].images >= 0).sum() == 5
    sign_in(client, owner)
    (remark,) = client.get(f"/api/v1/campaigns/{campaign.id}/remarks").json()["items"]
    assert (remark["kind"], remark["image"], remark["annotator"]) == ("broken_image", image, 0)


def test_the_grid_ahead_is_the_next_one(client: TestClient) -> None:
    who = a_session(client, a_campaign(budget=20))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    assert ahead["id"] != lease["id"]
    again = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    assert again["id"] == ahead["id"]
    assert a_lease(client, who)["id"] == lease["id"]
    submit(client, who, lease)
    assert a_lease(client, who)["id"] == ahead["id"]


def test_a_grid_ahead_that_is_being_submitted_is_not_waited_for(client: TestClient) -> None:
    """A submission holds its answer when it asks for the assignment, which a claim holds."""
    who = a_session(client, a_campaign(budget=20))
    lease = a_lease(client, who)
    ahead = client.post("/api/v1/annotate/leases/ahead", headers=who).json()["lease"]
    submit(client, who, lease)
    with transaction() as session:
        locked(session, Answer, UUID(ahead["id"]))
        reply = client.post("/api/v1/annotate/leases", headers=who).json()
    assert (reply["status"], reply["lease"]) == ("wait", None)
    assert a_lease(client, who)["id"] == ahead["id"]


def test_nobody_leases_ahead_what_others_wait_for(client: TestClient) -> None:
    campaign = a_campaign(budget=5)
    who = a_session(client, campaign)
    assert client.post("/api/v1/annotate/leases/ahead", headers=who).json()["status"] == "wait"
    a_lease(client, who)
    reply = client.post("/api/v1/annotate/leases/ahead", headers=who).json()
    assert (reply["status"], reply["lease"]) == ("wait", None)


def test_all_images_of_a_grid_come_in_one_reply(client: TestClient) -> None:
    campaign = a_campaign()
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    address = f"/api/v1/annotate/leases/{lease['id']}/images"
    bundle = client.get(f"{address}/small", headers=who).content
    pictures = []
    while bundle:
        length = int.from_bytes(bundle[:4], "little")
        pictures.append(bundle[4 : 4 + length])
        bundle = bundle[4 + length :]
    assert len(pictures) == len(lease["images"])
    assert all(picture[:4] == b"RIFF" for picture in pictures)
    assert client.get(f"{address}/huge", headers=who).status_code == 404
    stranger = a_session(client, campaign, "annotator-000002")
    assert client.get(f"{address}/small", headers=stranger).status_code == 404
    assert client.get(f"{address}/small").status_code == 401


def test_work_in_a_lease_that_ran_out_comes_back_and_an_empty_one_does_not(
    client: TestClient,
) -> None:
    campaign = a_campaign(budget=8)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    draft = {"version": 1, "groups": [0, 0, -1, -1, -1, -1], "descriptions": []}
    client.put(f"/api/v1/annotate/leases/{lease['id']}/draft", json=draft, headers=who)
    expire(lease)
    back = a_lease(client, who)
    assert (back["id"], back["draft"]["groups"]) == (lease["id"], draft["groups"])
    assert back["expires_at"] > lease["expires_at"]
    expire(lease)
    other = a_session(client, campaign, "annotator-000002")
    taken = a_lease(client, other)
    assert taken["grid_id"] == lease["grid_id"]
    submit(client, other, taken)
    still = a_lease(client, who)
    assert still["id"] == lease["id"]
    assert submit(client, who, still).json()["status"] == "surplus"


@pytest.mark.parametrize(
    ("asked", "campaign", "accepted", "language"),
    [
        ("", "auto", "de-AT,de;q=0.9,en;q=0.8", "de"),
        ("", "auto", "fr,ar;q=0.5,en;q=0.3", "ar"),
        ("", "auto", "fr;q=x,*", "en"),
        ("", "auto", "", "en"),
        ("", "de", "en", "de"),
        ("ar", "de", "en", "ar"),
        ("xx", "auto", "de;q=0,en", "en"),
    ],
)
def test_the_language_is_chosen(asked: str, campaign: str, accepted: str, language: str) -> None:
    assert choose_language(asked, campaign, accepted) == language


def test_the_trace_can_be_played_back_and_taken_away(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner)
    who = a_session(client, campaign)
    device = {"width": 360, "height": 740, "ratio": 3, "pointer": "coarse", "language": "de",
              "question_language": ""}  # fmt: skip
    trace = [[0, "o"], [900, "p", 0, 0, 1]]
    lease = a_lease(client, who)
    submit(client, who, lease, trace=trace, device=device)
    sign_in(client, owner)
    base = f"/api/v1/campaigns/{campaign.id}/answers"
    (answer,) = client.get(f"{base}?annotator=0&replay=true").json()["items"]
    assert (answer["replay"]["trace"], answer["replay"]["device"]) == (trace, device)
    assert client.get(answer["replay"]["urls"][5]).status_code == 200
    # Columns and colours are those that the annotator saw.
    assert answer["replay"]["columns"] == 6
    colours = [(lease["first_colour"] + group) % 10 for group in range(campaign.max_groups)]
    assert answer["replay"]["colours"] == colours
    assert client.get(base).json()["items"][0]["replay"] is None
    assert client.get(f"{base}?annotator=7").json() == {"items": [], "next": None}
    exported = client.get(f"/api/v1/campaigns/{campaign.id}/export/traces.jsonl").text
    assert '"trace":[[0, "o"], [900, "p", 0, 0, 1]]' in exported


def test_skipped_grids_go_to_somebody_else(client: TestClient) -> None:
    campaign = a_campaign(budget=8)
    who = a_session(client, campaign)
    lease = a_lease(client, who)
    address = f"/api/v1/annotate/leases/{lease['id']}/return"
    assert client.post(address, json={"why": "blurred"}, headers=who).status_code == 204
    assert a_lease(client, who)["grid_id"] != lease["grid_id"]
    other = a_session(client, campaign, "annotator-000002")
    assert a_lease(client, other)["grid_id"] == lease["grid_id"]
    with transaction() as session:
        assert session.scalars(select(Remark.text)).all() == ["blurred"]

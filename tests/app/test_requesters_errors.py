"""Requesters' pages where something is wrong: the same page, or one that leads on."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.core.database import transaction
from testbed.builders import a_campaign, an_account, sign_in

PAGE = {"accept": "text/html"}


@pytest.mark.parametrize(
    "path",
    [
        "/campaigns/none",
        "/campaigns/none/map",
        "/collections/42",
        f"/campaigns/{UUID(int=7)}",
        "/no/such/page",
    ],
)
def test_pages_that_are_not_there_say_so_and_keep_the_navigation(
    client: TestClient, owner: Account, path: str
) -> None:
    assert owner.role == "requester"
    reply = client.get(path, headers=PAGE)
    assert reply.status_code == 404
    assert 'aria-label="Main"' in reply.text
    assert 'href="/accounts"' not in reply.text


def test_the_navigation_of_an_error_is_the_persons_own(client: TestClient) -> None:
    assert 'aria-label="Main"' not in client.get("/no/such/page", headers=PAGE).text
    admin = an_account()
    with transaction() as session:
        session.merge(admin).role = "admin"
    sign_in(client, admin)
    assert 'href="/accounts"' in client.get("/campaigns/none", headers=PAGE).text


def test_programs_are_told_which_id_is_none(client: TestClient, owner: Account) -> None:
    reply = client.get("/api/v1/campaigns/none")
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_request")


def test_sharing_with_an_unknown_address_stays_on_the_page(
    client: TestClient, owner: Account
) -> None:
    campaign = a_campaign(owner)
    address = f"/campaigns/{campaign.id}/shares"
    form = {"email": "nobody@example.org", "access": "view"}
    reply = client.post(address, data=form, headers=PAGE)
    assert reply.status_code == 404
    assert 'id="share-error"' in reply.text
    assert 'value="nobody@example.org"' in reply.text
    own = client.post(address, data={**form, "email": owner.email}, headers=PAGE)
    assert own.status_code == 422
    assert "You own this campaign." in own.text


def test_sharing_ends_by_a_button(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner)
    an_account("friend@example.org")
    address = f"/campaigns/{campaign.id}/shares"
    form = {"email": "friend@example.org", "access": "edit"}
    shared = client.post(address, data=form, headers=PAGE)
    assert "friend@example.org can edit" in shared.text
    assert 'aria-label="Stop sharing with friend@example.org"' in shared.text
    ended = client.post(address, data={**form, "access": "none"}, headers=PAGE)
    assert "friend@example.org" not in ended.text

"""Passwords as they are chosen and asked for, and the chance that tokens are made of."""

import base64
import random
import string

import numpy as np
import pytest
from fastapi.testclient import TestClient
from redis import Redis

from app.accounts.passwords import LONGEST, hash_password, password_fits
from app.core.security import new_token
from app.core.settings import get_settings
from testbed.builders import an_account, sign_in
from tests.support.accounts import enter, is_in


@pytest.fixture
def client(client: TestClient) -> TestClient:
    """Without attempts so far: they are counted in Valkey, which outlives a test."""
    Redis.from_url(get_settings().redis_url).flushdb()
    return client


ONE_KIND = (
    "tulipcadenceorbit",
    "TULIP CADENCE ORBIT",
    "漢字かな交じり文です長い",
    "8164930582771503948572019",
)


@pytest.mark.parametrize("one_kind", ONE_KIND)
def test_a_password_may_be_of_letters_or_figures_alone(one_kind: str) -> None:
    assert password_fits(hash_password(one_kind, "ada@example.org"), one_kind)


LONG = "".join(random.Random(1).choices(f"{string.ascii_letters} é漢", k=LONGEST))


def test_a_pass_phrase_counts_to_its_last_letter(client: TestClient) -> None:
    sign_in(client, an_account())
    refused = client.post("/account/password", data={"new": f"{LONG}x"})
    assert refused.status_code == 422
    assert "10 to 200 characters; this one has 201" in refused.text
    assert client.post("/account/password", data={"new": LONG}).status_code == 200
    client.post("/sign-out")
    for other in (LONG[:-1], LONG.swapcase(), f"{LONG}x", f" {LONG}", LONG.replace("é", "e")):
        assert enter(client, other).status_code == 403
    assert not is_in(client)
    assert enter(client, LONG).status_code == 303


def test_a_short_password_is_refused_however_random(client: TestClient) -> None:
    sign_in(client, an_account())
    for short in ("x7Kq-9vTz", ""):
        refused = client.post("/account/password", data={"new": short})
        assert refused.status_code == 422
    assert client.post("/account/password", data={"new": "x7Kq-9vTzp"}).status_code == 200


def test_tokens_have_256_bits_of_chance() -> None:
    tokens = [new_token() for _ in range(1000)]
    assert len(set(tokens)) == 1000
    raw = [base64.urlsafe_b64decode(f"{token}=") for token in tokens]
    assert {len(value) for value in raw} == {32}
    bits = np.unpackbits(np.frombuffer(b"".join(raw), np.uint8).reshape(1000, 32), axis=1)
    # Each bit of each is as often 0 as 1: ten standard deviations.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.16

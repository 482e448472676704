"""What can be checked of Prolific without asking it: amounts, notifications, tokens."""

import base64
import hmac
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import RSAKey

from app.recruitment.channel import ChannelRefused
from app.recruitment.channels.prolific import token as tokens
from app.recruitment.channels.prolific.hooks import BadHook, HookEvent, signature, verified
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.money import bonus_list, cents_of, major_text

SUBMISSION = "60ffe5c8371090c7041d43f8"
PAGE = "https://likewise.example.org/a/prolific/abc"


@given(st.integers(1, 999_999_999))
def test_hundredths_are_written_in_whole_units_and_read_back(cents: int) -> None:
    text = major_text(cents)
    assert cents_of(text) == cents
    assert text == f"{int(text.split('.')[0])}.{text.split('.')[1]}"
    assert len(text.split(".")[1]) == 2


@given(st.text(max_size=12))
def test_no_other_text_is_read_as_an_amount(text: str) -> None:
    try:
        cents = cents_of(text)
    except ValueError:
        return
    assert cents == 0 or major_text(cents) == text


def test_a_bonus_list_is_as_documented() -> None:
    """The example of Prolific's documentation: 4.25 is £4.25; 30 would be £30."""
    lines = [(SUBMISSION, 425), (SUBMISSION[::-1], 30)]
    assert bonus_list(lines) == f"{SUBMISSION},4.25\n{SUBMISSION[::-1]},0.30\n"


@pytest.mark.parametrize("line", [(SUBMISSION, 0), (SUBMISSION, -5), ("a,9.00\nb", 5), ("", 5)])
def test_a_bonus_list_takes_nothing_but_ids_and_positive_amounts(line: tuple[str, int]) -> None:
    with pytest.raises(ValueError, match=r"bonus|ID"):
        bonus_list([line])


@pytest.mark.parametrize("token", ["", "short", "a token with blanks", "line\nbreak-aaaa"])
def test_a_token_that_is_none_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ChannelRefused) as caught:
        ProlificHttp("https://api.prolific.com", token)
    assert not token or token not in str(caught.value)


# Notifications

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
BODY = json.dumps(
    {
        "resource_id": SUBMISSION,
        "event_type": "submission.status.change",
        "participant_id": "5f0c",
        "status": "AWAITING REVIEW",
    }
).encode()


def headers(
    body: bytes = BODY, at: datetime = NOW, secret: str = "s3cret", event: str = "e-1"
) -> dict[str, str]:
    stamp = str(int(at.timestamp()))
    return {
        "X-Prolific-Request-Timestamp": stamp,
        "X-Prolific-Request-Signature": signature(secret, stamp, body),
        "X-Event-ID": event,
        "X-Timestamp": str(int(at.timestamp()) - 40),
    }


def test_a_signature_is_prolifics() -> None:
    """As the documentation's sample computes it, written out once with other tools:
    printf '1700000000{"a": 1}' | openssl dgst -sha256 -hmac topsecret -binary | base64
    """
    expected = "zTWLMji0UZeM3m6A9BOu22mSYA4d4B2edlPhark9vB4="
    assert signature("topsecret", "1700000000", b'{"a": 1}') == expected


def test_a_signed_notification_tells_what_changed() -> None:
    event = verified(headers(), BODY, "s3cret", NOW)
    assert event == HookEvent(
        event_id="e-1",
        seen_keys=event.seen_keys,
        sent_at=NOW - timedelta(seconds=40),
        event_type="submission.status.change",
        status="AWAITING REVIEW",
        submission=SUBMISSION,
        participant="5f0c",
    )
    lower = {name.lower(): value for name, value in headers().items()}
    assert verified(lower, BODY, "s3cret", NOW) == event


def test_a_replay_is_known_by_one_of_its_two_keys() -> None:
    """X-Event-ID is not signed: who replays a body can write another one over it."""
    first = verified(headers(), BODY, "s3cret", NOW)
    forged = verified(headers() | {"X-Event-ID": "e-2"}, BODY, "s3cret", NOW)
    again = verified(headers(at=NOW + timedelta(seconds=60)), BODY, "s3cret", NOW)
    assert set(first.seen_keys) & set(forged.seen_keys)
    assert set(first.seen_keys) & set(again.seen_keys)
    other = verified(headers(event="e-3", at=NOW + timedelta(seconds=1)), BODY, "s3cret", NOW)
    assert not set(first.seen_keys) & set(other.seen_keys)


@pytest.mark.parametrize(
    ("changed", "body", "at", "code"),
    [
        ({}, BODY + b" ", NOW, "hook_signature"),
        ({"X-Prolific-Request-Signature": "ä"}, BODY, NOW, "hook_signature"),
        ({"X-Prolific-Request-Timestamp": "1700000000"}, BODY, NOW, "hook_signature"),
        (headers(secret="another"), BODY, NOW, "hook_signature"),
        ({}, BODY, NOW + timedelta(minutes=5, seconds=1), "hook_time"),
        ({}, BODY, NOW - timedelta(minutes=5, seconds=1), "hook_time"),
        ({"X-Event-ID": ""}, BODY, NOW, "hook_headers"),
        ({"X-Prolific-Request-Signature": ""}, BODY, NOW, "hook_headers"),
        ({"X-Timestamp": "yesterday"}, BODY, NOW, "hook_time"),
    ],
)
def test_a_notification_that_is_not_right_is_refused(
    changed: dict[str, str], body: bytes, at: datetime, code: str
) -> None:
    with pytest.raises(BadHook) as caught:
        verified(headers() | changed, body, "s3cret", at)
    assert caught.value.code == code


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff", b'{"event_type": 3}'])
def test_a_signed_body_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(BadHook):
        verified(headers(body), body, "s3cret", NOW)


# Tokens


@pytest.fixture(scope="module")
def key() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "one"}, private=True)


@pytest.fixture(scope="module")
def published(key: RSAKey) -> tokens.TokenKeys:
    return tokens.TokenKeys(lambda: {"keys": [key.as_dict(private=False)]})


def claims(**changed: object) -> dict[str, object]:
    now = int(time.time())
    return {
        "iss": tokens.ISSUER,
        "iat": now,
        "exp": now + 120,
        "aud": f"{PAGE}?PROLIFIC_PID=p1&STUDY_ID=t1&SESSION_ID=s1",
        "sub": "s1",
        "prolific": {
            "PROLIFIC_PID": "p1",
            "STUDY_ID": "t1",
            "SESSION_ID": "s1",
            "workspace_id": "w1",
        },
        **changed,
    }


def signed(key: RSAKey, **changed: object) -> str:
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims(**changed), key)


def base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def test_a_token_tells_who_comes(key: RSAKey, published: tokens.TokenKeys) -> None:
    token_claims = tokens.token_claims(signed(key), PAGE, published)
    assert token_claims == tokens.TokenClaims("s1", "p1", "t1", "w1")
    # A clock that is some seconds behind is no reason to turn somebody away.
    tokens.token_claims(signed(key), PAGE, published, now=time.time() + 125)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://prolific.example"},
        {"exp": -20},
        {"iat": 600, "exp": 700},
        {"aud": "https://likewise.example.org/a/prolific/another?SESSION_ID=s1"},
        {"aud": "https://likewise.example.org.evil.example/a/prolific/abc"},
        {"aud": ["https://likewise.example.org/a/prolific/abc"]},
        {"sub": "s2"},
        {"exp": None},
        {"prolific": None},
        {"prolific": {"SESSION_ID": "s1"}},
    ],
)
def test_a_token_of_another_time_page_or_person_is_refused(
    key: RSAKey, published: tokens.TokenKeys, changed: dict[str, object]
) -> None:
    """Numbers are seconds from now: the list is made long before the test runs."""
    now = int(time.time())
    moved = {
        name: now + value if isinstance(value, int) else value for name, value in changed.items()
    }
    with pytest.raises(tokens.BadToken):
        tokens.token_claims(signed(key, **moved), PAGE, published)


def test_a_forged_token_is_refused(key: RSAKey, published: tokens.TokenKeys) -> None:
    another = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
    body = signed(key).split(".")[1]
    # A server that let the token choose would take the public key for an HMAC's secret.
    start = base64url(b'{"alg":"HS256","kid":"one"}') + "." + body
    digest = hmac.digest(key.as_pem(private=False), start.encode(), "sha256")
    forged = [
        signed(another),
        f"{start}.{base64url(digest)}",
        base64url(b'{"alg":"none"}') + f".{body}.",
        "",
        "a.b.c",
        signed(key)[:-4] + "AAAA",
    ]
    for token in forged:
        with pytest.raises(tokens.BadToken):
            tokens.token_claims(token, PAGE, published)


def test_keys_are_kept_and_fetched_again_for_a_new_one_but_not_at_strangers_will(
    key: RSAKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = RSAKey.generate_key(2048, {"kid": "two"}, private=True)
    known, fetched, clock = [key], [], [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def fetch() -> object:
        fetched.append(clock[0])
        return {"keys": [signing_key.as_dict(private=False) for signing_key in known]}

    keys = tokens.TokenKeys(fetch)
    for _ in range(3):
        tokens.token_claims(signed(key), PAGE, keys)
    for _ in range(3):
        with pytest.raises(tokens.BadToken):
            tokens.token_claims(signed(new), PAGE, keys)
    assert fetched == [1_000.0]
    known.append(new)
    clock[0] += tokens.KEYS_AGAIN_SECONDS + 1
    tokens.token_claims(signed(new), PAGE, keys)
    assert len(fetched) == 2

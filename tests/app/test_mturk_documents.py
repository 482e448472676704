"""What is told MTurk and what MTurk tells, without MTurk: XML, addresses, errors, events."""

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
)
from app.recruitment.channels.mturk.errors import BadKeys, NotAllowed, has_code, translated
from app.recruitment.channels.mturk.queue import events_of
from app.recruitment.channels.mturk.sites import (
    BadSubmitAddress,
    frame_ancestors,
    site_of,
    submit_address,
)
from app.recruitment.channels.mturk.texts import clipped, dollars
from app.recruitment.channels.mturk.xml import BadAnswer, answer_fields, external_question
from emulators.mturk.answers import answers_xml
from emulators.mturk.question import read_question
from tests.conftest import forget_settings

SITE = "http://127.0.0.1:4567"
POSTS = {
    "production": "https://www.mturk.com",
    "sandbox": "https://workersandbox.mturk.com",
    "custom": SITE,
}


@pytest.fixture(autouse=True, scope="module")
def operators_settings() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATABASE_URL", "postgresql+psycopg://unused")
        for name in ("REDIS_URL", "LIKEWISE_SECRET_KEY"):
            patch.setenv(name, "unused")
        patch.setenv("LIKEWISE_MTURK_ENDPOINT", f"{SITE}/")
        patch.setenv("LIKEWISE_MTURK_WORKER_SITE", f"{SITE}/")
        forget_settings()
        yield
    forget_settings()


# --- the question and the answer -----------------------------------------------------------------


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=80))
def test_the_question_is_what_mturks_schema_asks_for(text: str) -> None:
    url = "https://example.org/a/mturk/x?q=" + text.replace("#", "")
    question = external_question(url)
    # The emulator's reader is strict about names, order, attributes and the namespace.
    assert read_question(question, allow_http=False).url == url
    root = ElementTree.fromstring(question)
    assert [child.tag.rpartition("}")[2] for child in root] == ["ExternalURL", "FrameHeight"]
    assert "<ExternalQuestion xmlns=" in question


@pytest.mark.parametrize(
    "url",
    ["http://example.org/", "https://", "https://x.org/#part", "javascript:alert(1)", "/a/mturk"],
)
def test_what_mturk_cannot_show_is_refused_before_it_is_asked(url: str) -> None:
    with pytest.raises(ChannelRefused):
        external_question(url)


def test_a_server_without_https_is_told_what_to_do() -> None:
    with pytest.raises(ChannelRefused, match="LIKEWISE_BASE_URL"):
        external_question("http://127.0.0.1:8000/a/mturk/x")
    assert "http://127.0.0.1" in external_question("http://127.0.0.1:8000/", encrypted=False)


def test_answers_are_read() -> None:
    assert answer_fields(answers_xml([("code", "a-1"), ("note", "<é> & so")])) == {
        "code": "a-1",
        "note": "<é> & so",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html/>",
        "<QuestionFormAnswers/>",
        '<!DOCTYPE a [<!ENTITY b "c">]>' + answers_xml([("a", "b")]).partition("?>")[2],
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<!DOCTYPE a>" + answers_xml([("a", "b")]).partition("?>")[2],
        "<a>" * 100_000,
    ],
)
def test_answers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(BadAnswer):
        answer_fields(text)


@given(st.text(max_size=300))
def test_no_answer_breaks_the_reader(text: str) -> None:
    with pytest.raises(BadAnswer):
        answer_fields(text)


@given(st.integers(0, 10_000_000))
def test_amounts_are_exact(cents: int) -> None:
    whole, part = dollars(cents).split(".")
    assert int(whole) * 100 + int(part) == cents
    assert len(part) == 2


def test_texts_lose_what_mturk_refuses() -> None:
    assert clipped("a\x00b\x0bc\nd ", 10) == "abc\nd"
    assert clipped("abcdef", 4) == "abc…"


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", POSTS)
def test_answers_go_to_the_platforms_own_address(environment: str) -> None:
    origin = POSTS[environment]
    wanted = f"{origin}/mturk/externalSubmit"
    assert submit_address(origin, environment) == wanted
    assert submit_address(f"{origin}/", environment) == wanted


@pytest.mark.parametrize("environment", POSTS)
@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://evil.org",
        "https://www.mturk.com.evil.org",
        "https://www.mturk.com@evil.org",
        "https://evil.org/https://www.mturk.com",
        "http://www.mturk.com",
        "//www.mturk.com",
        "https://www.mturk.com//",
        "https://www.mturk.com/mturk/externalSubmit",
        "https://www.mturk.com\n",
        "HTTPS://WWW.MTURK.COM",
        "https://www.mturk.com:444",
        "https://worker.mturk.com",
        "javascript:alert(1)",
    ],
)
def test_other_addresses_are_refused(environment: str, address: str) -> None:
    with pytest.raises(BadSubmitAddress, match="somewhere other than Mechanical Turk") as refused:
        submit_address(address, environment)
    assert refused.value.status == 400


def test_each_environment_has_its_own_address() -> None:
    for environment in POSTS:
        for other, origin in POSTS.items():
            if other != environment:
                with pytest.raises(BadSubmitAddress):
                    submit_address(origin, environment)


_PARTS = "https:// www.mturk.com @ . / // evil.org :443 \\ %2f ? # mturk /mturk/externalSubmit 。"
_PIECES = st.sampled_from([*POSTS.values(), *_PARTS.split(), "\t", "\n", " "])


@given(
    st.lists(_PIECES | st.text(max_size=5), max_size=6).map("".join) | st.text(max_size=60),
    st.sampled_from([*POSTS, "live", ""]),
)
def test_no_foreign_address_ever_passes(address: str, environment: str) -> None:
    try:
        url = submit_address(address, environment)
    except BadSubmitAddress:
        return
    assert url == POSTS[environment] + "/mturk/externalSubmit"
    assert address.removesuffix("/") == POSTS[environment]


def test_only_the_platform_may_frame_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert frame_ancestors("sandbox") == "https://workersandbox.mturk.com"
    assert frame_ancestors("custom") == SITE
    assert frame_ancestors().split() == [
        "https://worker.mturk.com",
        "https://www.mturk.com",
        "https://workersandbox.mturk.com",
        SITE,
    ]
    monkeypatch.setenv("LIKEWISE_MTURK_ENDPOINT", "")
    forget_settings()
    assert SITE not in frame_ancestors()
    with pytest.raises(ChannelRefused, match="LIKEWISE_MTURK_ENDPOINT"):
        site_of("custom")
    with pytest.raises(BadSubmitAddress):
        submit_address(SITE, "custom")
    monkeypatch.undo()
    forget_settings()


# --- errors --------------------------------------------------------------------------------------


def _reply(kind: str, status: int = 400, code: str = "", message: str = "No.") -> ClientError:
    document: dict[str, object] = {
        "Error": {"Code": kind, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    if code:
        document["TurkErrorCode"] = code
    return ClientError(document, "SendBonus")


AT = {"endpoint_url": "https://mturk"}
PREFIX = "AWS.MechanicalTurk."
FAILURES: list[tuple[Exception, type[ChannelError], type[ChannelError], str]] = [
    (_reply("ThrottlingException"), ChannelUnavailable, ChannelUnavailable, "too many requests"),
    (_reply("Whatever", 429), ChannelUnavailable, ChannelUnavailable, "too many requests"),
    (_reply("ServiceFault", 500), ChannelUnavailable, OutcomeUnknown, "has a problem"),
    (_reply("502", 502), ChannelUnavailable, OutcomeUnknown, "has a problem"),
    (ReadTimeoutError(**AT), ChannelUnavailable, OutcomeUnknown, "did not answer"),
    (ConnectionClosedError(**AT), ChannelUnavailable, OutcomeUnknown, "did not answer"),
    (
        ConnectTimeoutError(**AT),
        ChannelUnavailable,
        ChannelUnavailable,
        "closed it on 30 September 2026",
    ),
    (
        EndpointConnectionError(**AT),
        ChannelUnavailable,
        ChannelUnavailable,
        "can't be reached",
    ),
    (NoCredentialsError(), BadKeys, BadKeys, "AWS_ACCESS_KEY_ID"),
    (_reply("UnrecognizedClientException"), BadKeys, BadKeys, "access keys"),
    (_reply("InvalidSignatureException"), BadKeys, BadKeys, "access keys"),
    (_reply("RequestError", code="AWS.AccountNotLinked"), BadKeys, BadKeys, "not linked"),
    (_reply("AccessDeniedException"), NotAllowed, NotAllowed, "lack a permission"),
    (
        _reply("RequestError", code=PREFIX + "InsufficientFunds"),
        ChannelRefused,
        ChannelRefused,
        "does not have enough money",
    ),
    (
        _reply("RequestError", code=PREFIX + "InvalidMaximumAssignmentsIncrease"),
        ChannelRefused,
        ChannelRefused,
        "fewer than ten places",
    ),
    (
        _reply("RequestError", code=PREFIX + "Odd", message="It is odd. (1598899580229 s)"),
        ChannelRefused,
        ChannelRefused,
        r"It is odd\. \(AWS",
    ),
]


@pytest.mark.parametrize(("error", "expected", "expected_for_money", "words"), FAILURES)
def test_failures_are_told_for_what_they_are(
    error: ClientError,
    expected: type[ChannelError],
    expected_for_money: type[ChannelError],
    words: str,
) -> None:
    for pays, wanted in ((False, expected), (True, expected_for_money)):
        got = translated(error, pays=pays)
        assert type(got) is wanted
        assert str(got)
        with pytest.raises(ChannelError, match=words):
            raise got


def test_messages_name_no_people() -> None:
    message = "Worker A2SUAM1OG0T6V has not submitted assignment 3ABC."
    error = translated(_reply("RequestError", code=PREFIX + "Odd", message=message))
    assert "A2SUAM1OG0T6V" not in str(error)
    assert isinstance(error, ChannelRefused)
    assert has_code(error, "odd")


# --- events --------------------------------------------------------------------------------------


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["Events", "EventDocId", "EventType", "HITId", "x"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_nothing_in_the_queue_breaks_its_reader(document: object) -> None:
    import json

    assert isinstance(events_of(json.dumps(document)), list)


@pytest.mark.parametrize("body", ["", "no JSON", "[" * 100_000, "[]", '{"Events": []}', "null"])
def test_messages_that_are_none_are_dropped(body: str) -> None:
    assert events_of(body) == []

"""The MTurk emulator checks who calls and what is asked, as strictly as MTurk."""

from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from emulators.mturk import question as question_module
from emulators.mturk.errors import Refused
from emulators.mturk.question import read_question
from emulators.mturk.server import Emulator
from tests.emulators.support import DAY, Crowd, a_hit, client, code_of, question, sentence_of


def test_a_wrong_secret_is_told_from_an_unknown_key(emulator: Emulator) -> None:
    with pytest.raises(ClientError) as error:
        client(emulator, secret="guessed").get_account_balance()
    assert code_of(error) == "InvalidSignatureException"
    with pytest.raises(ClientError) as error:
        client(emulator, key="nobody").get_account_balance()
    assert code_of(error) == "UnrecognizedClientException"
    reply = httpx.post(emulator.endpoint_url, headers={"X-Amz-Target": "X.GetHIT"}, timeout=60)
    assert reply.json()["__type"] == "UnknownOperationException"
    target = {"X-Amz-Target": "MTurkRequesterServiceV20170117.GetHIT"}
    reply = httpx.post(emulator.endpoint_url, headers=target, timeout=60)
    assert reply.json()["__type"] == "MissingAuthenticationTokenException"


def test_a_signed_request_cannot_be_changed(emulator: Emulator) -> None:
    other = client(emulator)

    def change(request: Any, **_: object) -> None:
        request.body = request.body.replace(b"5", b"9")

    other.meta.events.register("before-send.mturk.ListHITs", change)
    with pytest.raises(ClientError) as error:
        other.list_hits(MaxResults=5)
    assert code_of(error) == "InvalidSignatureException"


def test_requesters_do_not_see_each_other(emulator: Emulator, mturk: Any, crowd: Crowd) -> None:
    hit = a_hit(mturk)
    other = client(emulator, key="other", secret="other-secret")
    with pytest.raises(ClientError) as error:
        other.get_hit(HITId=hit)
    assert code_of(error) == "HITDoesNotExist"
    assignment_id = crowd.work(hit)["assignment_id"]
    with pytest.raises(ClientError) as error:
        other.approve_assignment(AssignmentId=assignment_id)
    assert code_of(error) == "AssignmentDoesNotExist"
    assert other.list_hits()["HITs"] == []
    assert other.get_account_balance()["AvailableBalance"] == "10000.00"


@pytest.mark.parametrize(
    ("call", "parameters", "problem"),
    [
        ("get_hit", {}, "Missing required parameter"),
        ("get_hit", {"HITId": "small-letters"}, "does not match"),
        ("get_hit", {"HITId": "3" * 65}, "not between 1 and 64"),
        ("get_hit", {"HITId": "3A\n"}, "does not match"),
        ("list_hits", {"MaxResults": 101}, "not between 1 and 100"),
        ("list_hits", {"MaxResults": True}, "not a number"),
        ("list_hits", {"MaxResults": "5"}, "Invalid type"),
        ("list_reviewable_hits", {"Status": "Reviewed"}, "not one of"),
    ],
)
def test_every_member_is_checked_against_the_service_model(
    emulator: Emulator, call: str, parameters: dict[str, Any], problem: str
) -> None:
    """botocore's own validation lets most of these through, also when it is on."""
    with pytest.raises(ClientError) as error:
        getattr(client(emulator, strict=False), call)(**parameters)
    assert code_of(error) == "ValidationException"
    assert problem in sentence_of(error)
    assert [violation["side"] for violation in emulator.state.violations] == ["request"]


def test_an_unknown_member_and_an_unsound_amount_are_refused(emulator: Emulator) -> None:
    careless = client(emulator, strict=False)

    def add_member(request: Any, **_: object) -> None:
        request.data = b'{"Sandbox": true}'

    careless.meta.events.register("before-sign.mturk.ListHITs", add_member)
    with pytest.raises(ClientError, match="Unknown parameter"):
        careless.list_hits()
    with pytest.raises(ClientError, match="Reward"):
        a_hit(careless, Reward="0.30000000000000004")
    assert len(emulator.state.violations) == 2


def test_limits_that_no_shape_carries(mturk: Any) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"Title": "x" * 129}, "ParameterLengthTooLong"),
        ({"Description": " "}, "InvalidParameterValue"),
        ({"LifetimeInSeconds": 29}, "ParameterOutOfRange"),
        ({"AssignmentDurationInSeconds": 366 * DAY}, "ParameterOutOfRange"),
        ({"AutoApprovalDelayInSeconds": 31 * DAY}, "ParameterOutOfRange"),
        ({"MaxAssignments": 0}, "ParameterOutOfRange"),
        ({"RequesterAnnotation": "x" * 256}, "ParameterLengthTooLong"),
        ({"HITLayoutId": "3LAYOUT"}, "NotEmulated"),
    ]
    for changes, code in cases:
        with pytest.raises(ClientError) as error:
            a_hit(mturk, **changes)
        assert code_of(error) == code, changes
    assert mturk.list_hits()["NumResults"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "not XML",
        question("http://task.test/"),
        question("javascript:alert(1)"),
        question(height="tall"),
        question(height="-1"),
        question().replace("2006-07-14", "2007-07-14"),
        question().replace("<FrameHeight>", '<FrameHeight unit="px">'),
        question().replace("<FrameHeight>", "&amp;<FrameHeight>"),
        question().replace("</ExternalQuestion>", "<More/></ExternalQuestion>"),
        question().replace("ExternalURL", "ExternalUrl"),
        '<!DOCTYPE a [<!ENTITY b "https://task.test/">]>' + question().replace("https://", "&b;"),
    ],
)
def test_a_question_off_the_schema_is_refused(mturk: Any, text: str) -> None:
    with pytest.raises(ClientError) as error:
        a_hit(mturk, Question=text)
    assert code_of(error) == "ParameterValidationError"
    assert "validates against the appropriate schema" in sentence_of(error)


def test_a_question_may_have_65535_bytes_and_http_only_where_allowed() -> None:
    room = question_module.MAX_BYTES - len(question("https://task.test/"))
    read_question(question("https://task.test/" + "x" * room), allow_http=False)
    with pytest.raises(Refused, match="longer than"):
        read_question(question("https://task.test/" + "x" * (room + 1)), allow_http=False)
    assert read_question(question("http://localhost:8000/"), allow_http=True).frame_height == 600

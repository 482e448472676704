"""Handles a POST in AWS JSON: signature, check against the model, operation and response."""

import logging
from dataclasses import dataclass, field
from uuid import uuid4

import orjson
from botocore.model import OperationModel

from emulators.mturk import shapes
from emulators.mturk.errors import Refused, not_emulated, throttled, unavailable
from emulators.mturk.faults import CallFault
from emulators.mturk.market import settle
from emulators.mturk.operations import OPERATIONS, Call
from emulators.mturk.queue import OPERATIONS as QUEUE_OPERATIONS
from emulators.mturk.shapes import Document
from emulators.mturk.signature import verify
from emulators.mturk.state import State

MTURK_TARGET = shapes.MTURK.metadata["targetPrefix"]
SQS_TARGET = shapes.SQS.metadata["targetPrefix"]
# The code that boto3 shows for an SQS error, because SQS used another protocol in the past.
_QUERY_CODES = {"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue;Sender"}
_LONGEST_POLL = 20  # seconds; SQS's own limit
log = logging.getLogger(__name__)


@dataclass
class Reply:
    status: int
    document: Document
    headers: dict[str, str] = field(default_factory=dict)
    hold: float | None = None  # seconds to wait, then the connection is closed without a response


@dataclass
class _Target:
    prefix: str
    name: str
    model: OperationModel


def handle(state: State, headers: dict[str, str], url: str, origin: str, body: bytes) -> Reply:
    """Handle a request. `headers` has lower-case names; queues' addresses begin with `origin`."""
    with state.lock:
        record: Document = {"at": state.clock.now(), "operation": headers.get("x-amz-target", "")}
        state.calls.append(record)
        try:
            reply = _answer(state, headers, url, origin, body, record)
            record.setdefault("outcome", "ok")
        except Refused as refusal:
            record.setdefault("outcome", refusal.code or refusal.kind)
            reply = _error(state, refusal)
        record["status"] = reply.status
        reply.headers["x-amzn-RequestId"] = str(uuid4())
        version = "1.0" if headers.get("x-amz-target", "").startswith(SQS_TARGET) else "1.1"
        reply.headers["Content-Type"] = f"application/x-amz-json-{version}"
        return reply


def poll_seconds(headers: dict[str, str], body: bytes) -> tuple[str, float]:
    """The queue for whose next message a call waits, and the seconds; 0 for all other calls."""
    if headers.get("x-amz-target") != f"{SQS_TARGET}.ReceiveMessage":
        return "", 0
    try:
        params = _read(body)
    except Refused:
        return "", 0
    url, seconds = params.get("QueueUrl"), params.get("WaitTimeSeconds", 0)
    if not isinstance(url, str) or not isinstance(seconds, int):
        return "", 0
    return url, min(seconds, _LONGEST_POLL)


def _answer(
    state: State, headers: dict[str, str], url: str, origin: str, body: bytes, record: Document
) -> Reply:
    target = _target(headers.get("x-amz-target", ""))
    record["operation"] = target.name
    service = "sqs" if target.prefix == SQS_TARGET else "mturk-requester"
    secrets = {key: requester.secret for key, requester in state.requesters.items()}
    owner = verify(headers, url, body, service, secrets)
    record["requester"] = state.requesters[owner].customer_id
    params = _read(body)
    record["params"] = params
    fault = state.faults.strike(target.name)
    if fault:
        record["outcome"] = fault
    if fault in ("throttle", "error_before", "timeout_before"):
        return _struck(state, fault)
    try:
        document = _perform(state, target, owner, origin, params)
    except Refused:
        # The client never sees a lost response, whatever it said.
        if fault:
            return _struck(state, fault)
        raise
    return _struck(state, fault) if fault else Reply(200, document)


def _target(header: str) -> _Target:
    prefix, _, name = header.partition(".")
    service = {MTURK_TARGET: shapes.MTURK, SQS_TARGET: shapes.SQS}.get(prefix)
    model = shapes.operation(service, name) if service else None
    if model is None:
        raise Refused(f"Unknown operation {header!r}.", kind="UnknownOperationException")
    return _Target(prefix, name, model)


def _read(body: bytes) -> Document:
    try:
        params = orjson.loads(body or b"{}")
    except ValueError:
        raise Refused("The body is not JSON.", kind="SerializationException") from None
    if not isinstance(params, dict):
        raise Refused("The body is not an object.", kind="SerializationException")
    return params


def _perform(state: State, target: _Target, owner: str, origin: str, params: Document) -> Document:
    problems = shapes.problems(target.model.input_shape, params)
    if problems:
        _violation(state, "request", target.name, problems)
        raise Refused(
            f"{len(problems)} validation error detected: {'; '.join(problems)}",
            kind="ValidationException",
        )
    settle(state)
    if target.prefix == SQS_TARGET:
        queue_handler = QUEUE_OPERATIONS.get(target.name)
        if queue_handler is None:
            raise not_emulated(target.name)
        document = queue_handler(state, params, origin)
    else:
        handler = OPERATIONS.get(target.name)
        if handler is None:
            raise not_emulated(target.name)
        document = handler(Call(state, owner, target.name, params))
    return _checked_answer(state, target, document)


def _checked_answer(state: State, target: _Target, document: Document) -> Document:
    document = shapes.without_nothing(document)
    problems = shapes.problems(target.model.output_shape, document)
    if problems:
        _violation(state, "response", target.name, problems)
        raise Refused("; ".join(problems), "EmulatorViolation", "ServiceFault", 500)
    answer = shapes.to_wire(document)
    assert isinstance(answer, dict)
    return answer


def _violation(state: State, side: str, operation: str, problems: list[str]) -> None:
    log.warning("%s of %s violates its shape: %s", side, operation, "; ".join(problems))
    at = state.clock.now()
    state.violations.append({"at": at, "side": side, "operation": operation, "problems": problems})


def _struck(state: State, fault: CallFault) -> Reply:
    if fault.startswith("timeout"):
        return Reply(0, {}, hold=state.faults.settings.hold_seconds)
    if fault == "throttle":
        reply = _error(state, throttled())
        reply.status = state.faults.settings.throttle_status
        return reply
    return _error(state, unavailable())


def _error(state: State, refusal: Refused) -> Reply:
    """An error response. MTurk's messages end with the current time in milliseconds."""
    stamp = int(state.clock.now().timestamp() * 1000)
    message = f"{refusal.message} ({stamp})" if refusal.code else refusal.message
    document = {"__type": refusal.kind, "Message": message}
    if refusal.code:
        document["TurkErrorCode"] = refusal.code
    headers = {"x-amzn-ErrorType": refusal.kind}
    if refusal.kind in _QUERY_CODES:
        headers["x-amzn-query-error"] = _QUERY_CODES[refusal.kind]
    return Reply(refusal.status, document, headers)

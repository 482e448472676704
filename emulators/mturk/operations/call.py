"""The call object that all operations share: look-ups, tokens, ranges and pages."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import orjson

from emulators.mturk.errors import Refused, already_processed, missing
from emulators.mturk.records import Assignment, Hit, HitType, QualificationType, Worker
from emulators.mturk.shapes import Document
from emulators.mturk.state import State

TOKENS_KEPT = timedelta(hours=24)
_PAGE = 10  # MaxResults' default
Item = TypeVar("Item")


@dataclass
class Call:
    """A call with a known sender, whose parameters match the operation's shape."""

    state: State
    owner: str  # access key
    operation: str
    params: Document

    def hit(self) -> Hit:
        hit = self.state.hits.get(self.params["HITId"])
        if hit is None or hit.owner != self.owner:
            raise missing("Hit", self.params["HITId"], "HITDoesNotExist")
        return hit

    def hit_type(self) -> HitType:
        hit_type = self.state.hit_types.get(self.params["HITTypeId"])
        if hit_type is None or hit_type.owner != self.owner:
            raise missing("HITType", self.params["HITTypeId"], "HITTypeDoesNotExist")
        return hit_type

    def assignment(self) -> Assignment:
        """The current assignment with this id; a returned one belongs to nobody."""
        assignment = self.state.assignments.get(self.params["AssignmentId"])
        if (
            assignment is None
            or assignment.hit.owner != self.owner
            or assignment.state in ("Returned", "Abandoned")
        ):
            raise missing("Assignment", self.params["AssignmentId"], "AssignmentDoesNotExist")
        return assignment

    def qualification_type(self) -> QualificationType:
        """The qualification type, which must be the caller's own."""
        identifier = self.params["QualificationTypeId"]
        kind = self.state.qualification_types.get(identifier)
        if kind is None or kind.owner != self.owner:
            raise missing("QualificationType", identifier, "QualificationTypeDoesNotExist")
        return kind

    def worker(self) -> Worker:
        worker = self.state.workers.get(self.params["WorkerId"])
        if worker is None:
            # The reference of DeleteWorkerBlock has this sentence for missing and invalid ids.
            raise Refused("WorkerId is invalid.", "InvalidParameterValue")
        return worker

    def earlier(self) -> str | None:
        """The result of an earlier call with the same UniqueRequestToken within 24 hours."""
        token = self.params.get("UniqueRequestToken")
        stored = self.state.tokens.get((self.owner, self.operation, token or ""))
        if stored is None or self.state.clock.now() - stored[0] >= TOKENS_KEPT:
            return None
        return stored[1]

    def refuse_repeat(self) -> None:
        if self.earlier() is not None:
            raise already_processed(self.params["UniqueRequestToken"])

    def remember(self, result: str) -> None:
        token = self.params.get("UniqueRequestToken")
        if token:
            key = (self.owner, self.operation, token)
            self.state.tokens[key] = (self.state.clock.now(), result)

    def longest(self, **limits: int) -> None:
        for name, limit in limits.items():
            if len(self.params.get(name) or "") > limit:
                raise Refused(
                    f"{name} is longer than {limit} characters.", "ParameterLengthTooLong"
                )

    def between(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value: int = self.params.get(name, low if default is None else default)
        if not low <= value <= high:
            raise Refused(
                f'The value "{value}" for {name} is out of range. Valid values range from {low} '
                f"to {high}.",
                "ParameterOutOfRange",
            )
        return value

    def not_blank(self, *names: str) -> None:
        for name in names:
            if not self.params[name].strip():
                raise Refused(f"{name} must not be empty.", "InvalidParameterValue")

    def page(
        self,
        name: str,
        items: Sequence[Item],
        key: Callable[[Item], str],
        shown: Callable[[Item], Document],
    ) -> Document:
        """One page of `items`, which are sorted by `key`.

        The token has the last item's key, so that items that are added or removed between two
        calls don't shift the pages.
        """
        after = _read_token(self.params.get("NextToken"), self.operation)
        rest = [item for item in items if after is None or key(item) > after]
        size = self.params.get("MaxResults", _PAGE)
        page = rest[:size]
        answer: Document = {"NumResults": len(page), name: [shown(item) for item in page]}
        if len(rest) > size:
            answer["NextToken"] = _token(self.operation, key(page[-1]))
        return answer


def _token(operation: str, key: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([operation, key])).decode()


def _read_token(token: str | None, operation: str) -> str | None:
    if token is None:
        return None
    try:
        name, key = orjson.loads(base64.urlsafe_b64decode(token))
    except ValueError:
        name, key = "", ""
    if name != operation:
        raise Refused("NextToken is invalid.", "InvalidParameterValue")
    return str(key)


OPERATIONS: dict[str, Callable[[Call], Document]] = {}
Handler = Callable[[Call], Document]


def operation(name: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        OPERATIONS[name] = handler
        return handler

    return register

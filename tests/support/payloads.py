"""Texts that would run a script if a page took them for markup, planted in every free text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from app import tables
from app.core.database import transaction

# Each calls `ran`, which a page has only if a test put it there, or reaches another host.
PAYLOADS = (
    "<script>ran(1)</script>",
    "<img src=x onerror=ran(2)>",
    "<svg onload=ran(3)>",
    "javascript:ran(4)",
    "[a](javascript:ran(5))",
    "<iframe srcdoc='<script>parent.ran(6)</script>'>",
    '"\' onfocus=ran(7) autofocus x="',
    "{{constructor.constructor('ran(8)')()}}",
    "<style>@import'//evil.test/9'</style>",
    "\\u003cimg/src=x onerror=ran(10)\\u003e",
)
Plant = Callable[[Any, str], Any]


def whole(_: Any, text: str) -> Any:
    """The column is one free text."""
    return text


def given(value: Any, text: str) -> Any:
    """The column is one free text; where it is empty, a page shows something else."""
    return text if value else value


def each(values: Any, text: str) -> Any:
    """The column is a list of free texts."""
    return [text for _ in values or ()]


def every(values: Any, text: str) -> Any:
    """The column has a free text by each name."""
    return dict.fromkeys(values, text)


def under(*names: str) -> Plant:
    """Texts below these names of a JSON document, and lists of them."""

    def plant(value: Any, text: str) -> Any:
        if isinstance(value, list):
            return [plant(item, text) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: _all_of(item, text) if key in names else plant(item, text)
            for key, item in value.items()
        }

    return plant


def of_platforms(value: Any, text: str) -> Any:
    """Texts of a task on a platform, which are short there."""
    return under("title", "description", "keywords")(value, text[:100])


def _all_of(value: Any, text: str) -> Any:
    return [text for _ in value] if isinstance(value, list) else text


def also(**more: Any) -> Plant:
    """A document with these entries, where the text stands for "text"."""

    def plant(value: Any, text: str) -> Any:
        entries = {key: [text] if entry == ["text"] else text if entry == "text" else entry
                for key, entry in more.items()}  # fmt: skip
        return {**(value or {}), **entries}

    return plant


def attempts(_: Any, text: str) -> Any:
    """What was tried, as deliveries and payments keep it."""
    return [{"at": "2026-01-01T00:00:00Z", "status": 500, "seconds": 1.0, "said": text,
             "what": text, "why": text}]  # fmt: skip


def attributes(value: Any, text: str) -> Any:
    """One attribute more, a payload by name and value."""
    return {**value, text[:60]: text}


# By table and column.
FREE: dict[str, Plant] = {
    "account.email": whole,
    "annotator.decision_reason": whole,
    "annotator_identity.external_id": whole,
    "consent_text.text": whole,
    "answer.descriptions": each,
    "answer.draft": under("descriptions"),
    "api_token.name": whole,
    "assignment.external_id": whole,
    "audit_event.details": also(name="text"),
    "campaign.annotation": under(
        "consent", "instructions", "thanks", "screen_out_text", "title", "help", "question"
    ),
    "campaign.classes": each,
    "campaign.name": whole,
    "campaign.question": whole,
    "channel_account.checked": also(
        who="text", problems=["text"], warnings=["text"], balance_cents=100, currency="USD"
    ),
    "channel_account.name": whole,
    "channel_account.profile": whole,
    "channel_call.history": attempts,
    "channel_call.why": whole,
    "clustering.clusters": under("name", "words"),
    "clustering.name": whole,
    "collection.name": whole,
    "collection_import.error": whole,
    "collection_import.source": whole,
    "csp_violation.blocked": whole,
    "csp_violation.directive": whole,
    "csp_violation.page": whole,
    "image.attributes": attributes,
    "image.filename": whole,
    "feature_alignment.error": whole,
    "feature_alignment.figures": under("low", "high"),
    "feature_set.error": whole,
    "feature_set.file": whole,
    "feature_set.name": whole,
    "import_problem.address": whole,
    "import_problem.reason": whole,
    "invitation.label": whole,
    "job.error": whole,
    "link_parameters.values": also(source="text"),
    "model.insight": under("low", "middle", "high", "words", "enough"),
    "payment.external_id": whole,
    "payment.history": attempts,
    "payment.reason": whole,
    "payment.why": whole,
    "posting.details": also(title="text", url="text", preview_url="text"),
    "posting.external_id": whole,
    "questionnaire.questions": under("title", "help"),
    "questionnaire_reply.answers": every,
    "recruitment.name": whole,
    "recruitment.poll_error": given,
    "recruitment.settings": of_platforms,
    "read_only_link.note": whole,
    "remark.text": whole,
    "submission.code": whole,
    "submission.external_id": whole,
    "submission.reason": whole,
    "webhook.disabled_because": whole,
    "webhook.url": whole,
    "webhook_delivery.history": attempts,
}
CHOSEN = "one of a few words that the program knows"
BY_PROGRAM = "made by the program: a hash, a token, a key or an address of its own"
NUMBERS = "numbers, and names that the program gives them"
UNSHOWN = "kept for programs; no page shows it"
# Why a column cannot hold what somebody wrote.
CLOSED: dict[str, str] = {
    **dict.fromkeys(
        [
            "account.role",
            "api_token.scope",
            "asked_image.origin",
            "assignment.channel",
            "assignment.state",
            "answer.state",
            "annotator_identity.channel",
            "campaign.kind",
            "campaign.strategy",
            "campaign.state",
            "campaign.currency",
            "channel_account.channel",
            "channel_account.environment",
            "channel_account.source",
            "channel_call.action",
            "channel_call.state",
            "clustering.algorithm",
            "collection_import.kind",
            "collection_import.state",
            "feature_alignment.state",
            "feature_set.kind",
            "feature_set.state",
            "grid.role",
            "grid.purpose",
            "import_problem.code",
            "job.kind",
            "job.state",
            "model.strategy",
            "payment.kind",
            "payment.currency",
            "payment.state",
            "payment.rule",
            "posting.state",
            "recruitment.channel",
            "recruitment.state",
            "recruitment.currency",
            "questionnaire.place",
            "remark.kind",
            "round.state",
            "share.access",
            "submission.state",
            "submission.flag",
            "submission.decision",
            "webhook.events",
            "webhook_delivery.event",
            "webhook_delivery.state",
            "audit_event.action",
            "audit_event.subject_type",
            "outbox.task",
            "answer.device",
            "browser_session.browser",
        ],
        CHOSEN,
    ),
    **dict.fromkeys(
        [
            "account.password_hash",
            "api_token.prefix",
            "api_token.token_hash",
            "annotator_identity.key_hash",
            "annotator.answered_after",
            "annotator.answered_before",
            "annotator.consented_to",
            "consent_text.sha256",
            "questionnaire.sha256",
            "answer.request_hash",
            "assignment.completion_code",
            "browser_session.token_hash",
            "recovery_code.code_hash",
            "campaign.link_token",
            "discard.prefix",
            "discard.sha256",
            "feature_alignment.key",
            "feature_alignment.sha256",
            "feature_set.version",
            "feature_shard.key",
            "feature_shard.sha256",
            "feature_shard.images",
            "image.sha256",
            "invitation.token_hash",
            "kept_reply.request_hash",
            "model.artifact_key",
            "read_only_link.token_hash",
            "recruitment.link_token",
            "recruitment.password_hash",
            "sign_in_link.token_hash",
            "submission.person_hash",
            "job.lease_owner",
        ],
        BY_PROGRAM,
    ),
    **dict.fromkeys(
        [
            "annotator.practice",
            "answer.trace",
            "campaign.plan",
            "clustering.parameters",
            "dry_run.asked",
            "dry_run.ends",
            "dry_run.rounds",
            "dry_run.picture",
            "job.metrics",
            "model.metrics",
            "model.settings",
            "model.settled",
            "round.contents",
            "questionnaire_reply.screened_out_by",
            "campaign.settings",
            "campaign.ask_by",
        ],
        NUMBERS,
    ),
    **dict.fromkeys(
        [
            "answer.idempotency_key",
            "answer.imported_as",
            "channel_call.arguments",
            "channel_event.event_id",
            "kept_reply.headers",
            "kept_reply.key",
            "kept_reply.route",
            "model.notes",
            "outbox.arguments",
            "outbox.refused",
            "discard.refused",
            "webhook_delivery.body",
        ],
        UNSHOWN,
    ),
}
# What is planted and stands on no page as it is, and why.
UNSEEN: dict[str, str] = {
    **dict.fromkeys(
        ["annotator_identity.external_id", "assignment.external_id"],
        "who somebody is elsewhere: kept to pay and to forget; pages call annotators by numbers",
    ),
    **dict.fromkeys(
        ["payment.external_id", "posting.external_id"],
        "by what a platform calls it, which the program asks it with",
    ),
    "link_parameters.values": "in exports alone; pages call annotators by numbers",
    "consent_text.text": "in exports alone; pages show the campaign's present text",
    "questionnaire_reply.answers": "in exports alone; pages count choices and numbers",
    "channel_call.history": "for those who look into the database after a failure",
    "posting.details": "its address stands behind a link, which is looked at for what it does",
    "submission.code": "compared; a page says whether it is right",
    "submission.external_id": "a page shows its last eight signs",
}


def texts_of_tables() -> set[str]:
    """Every column that can hold text: strings, JSON, lists of strings."""
    return {
        f"{table.name}.{column.name}"
        for table in tables.metadata.tables.values()
        for column in table.columns
        if _holds_text(column.type)
    }


def _holds_text(kind: Any) -> bool:
    if isinstance(kind, sa.ARRAY):
        return _holds_text(kind.item_type)
    return isinstance(kind, sa.String | sa.JSON)


def fitting(mark: str, turn: int, length: int) -> str:
    """As many payloads as fit, beginning with another one at each turn, behind a mark."""
    text = mark
    for k in range(len(PAYLOADS)):
        payload = PAYLOADS[(turn + k) % len(PAYLOADS)]
        if len(text) + len(payload) > length:
            break
        text += payload
    return text


def plant_everywhere() -> dict[str, list[str]]:
    """Put payloads into every free text of every row; returns the texts by table and column.

    Fails where there is no row to plant in, or nothing in it that a text replaces."""
    planted: dict[str, list[str]] = {}
    with transaction() as session:
        for number, (place, plant) in enumerate(sorted(FREE.items())):
            name, column_name = place.split(".")
            table = tables.metadata.tables[name]
            column, keys = table.c[column_name], list(table.primary_key.columns)
            rows = session.execute(sa.select(*keys, column).order_by(*keys)).all()
            kind = getattr(column.type, "item_type", column.type)
            length = getattr(kind, "length", None) or 600
            planted[place] = []
            for turn, row in enumerate(rows):
                text = fitting(f"~{number}.{turn}~", turn, length)
                same = sa.and_(*(key == value for key, value in zip(keys, row, strict=False)))
                session.execute(table.update().where(same).values({column: plant(row[-1], text)}))
                planted[place].append(text)
            stored = session.scalars(sa.select(sa.cast(column, sa.Text)).order_by(*keys)).all()
            planted[place] = _which_stand(planted[place], stored)
            assert planted[place] != [], f"{place}: no row takes a payload; make one that does"
    return planted


def _which_stand(texts: Sequence[str], stored: Sequence[str | None]) -> list[str]:
    """The texts whose mark is found where they were put."""
    return [
        text for text, row in zip(texts, stored, strict=True) if first_mark(text) in (row or "")
    ]


def first_mark(text: str) -> str:
    """What a planted text begins with, which no other has."""
    return text[: text.index("~", 1) + 1]


def first_payload(text: str) -> str:
    """The mark of a planted text and the first payload behind it, as they must be seen."""
    mark = first_mark(text)
    rest = text[len(mark) :]
    return mark + next((payload for payload in PAYLOADS if rest.startswith(payload)), "")


def shown(texts: Mapping[str, list[str]], seen: str) -> set[str]:
    """Columns of which a text stands in what a page shows, unchanged."""
    return {
        place
        for place, all_of in texts.items()
        if any(first_payload(text) in seen for text in all_of)
    }

"""The parts of a study on Prolific: address, completion codes, filters and times."""

import html
import math
import secrets
from collections.abc import Mapping
from typing import Any, TypedDict

from app.recruitment.channel import ChannelRefused, PostingOrder
from app.recruitment.channels.prolific.countries import NAMES
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.replies import FilterChoices, Study
from app.recruitment.channels.prolific.settings import ProlificSettings

COUNTRY = "current-country-of-residence"
APPROVAL_RATE = "approval_rate"
APPROVALS = "approval_numbers"
EXCLUDED_GROUP = "participant_group_blocklist"
# Letters and digits that people mistake for each other when they type the code are left out.
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_PLACEHOLDERS = "&".join(
    f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
)


class Codes(TypedDict, total=False):
    """Completion codes by their meaning."""

    complete: str
    screened_out: str
    no_consent: str


def study_address(url: str) -> str:
    """Return our page's address with Prolific's three placeholders, which must not be
    percent-encoded."""
    return f"{url}{'&' if '?' in url else '?'}{_PLACEHOLDERS}"


def mark(token: str) -> str:
    """Return the text by which a study is found again if the response with its id is lost."""
    return f"[likewise {token}]"


def least_minutes_allowed(estimated: int) -> int:
    """Return Prolific's own minimum for `maximum_allowed_time`: 2 + 2 t + 2 √t minutes."""
    return math.ceil(2 + 2 * estimated + 2 * math.sqrt(estimated))


def check_order(order: PostingOrder, settings: ProlificSettings) -> None:
    """Raise ChannelRefused for what Prolific would not accept, before anything is created."""
    if order.reward_cents < 1:
        raise ChannelRefused("A study on Prolific needs a reward.", "no_reward")
    screened = settings.screen_out_cents
    if screened is not None and screened >= order.reward_cents:
        raise ChannelRefused(
            "The pay for failed practice must be less than the reward.", "screen_out_pay"
        )
    least = least_minutes_allowed(settings.minutes_estimated)
    if settings.minutes_allowed is not None and settings.minutes_allowed < least:
        raise ChannelRefused(
            f"Prolific requires “Minutes allowed” to be at least {least} for a study of "
            f"{settings.minutes_estimated} minutes. Leave it empty to use Prolific's default.",
            "minutes_allowed",
        )


def study_body(
    order: PostingOrder,
    settings: ProlificSettings,
    project: str,
    filters: list[dict[str, object]],
) -> dict[str, object]:
    """Return the body of `POST /studies/`."""
    body: dict[str, object] = {
        "name": order.title,
        "internal_name": f"{order.title[:60]} {mark(order.token)}",
        "description": _paragraphs(order.description or order.title),
        "external_study_url": study_address(order.url),
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(order.places, settings),
        "total_available_places": order.places,
        "estimated_completion_time": settings.minutes_estimated,
        "reward": order.reward_cents,
        "device_compatibility": list(settings.devices),
        "filters": filters,
        "project": project,
        # People who take part again do so in another study of the campaign.
        "submissions_config": {"max_submissions_per_participant": 1},
    }
    if settings.minutes_allowed is not None:
        body["maximum_allowed_time"] = settings.minutes_allowed
    return body


def completion_codes(places: int, settings: ProlificSettings) -> list[dict[str, object]]:
    """Return codes of random text, because a participant who guesses one would be paid for nothing.

    No code pays the reward, because codes leak. Instead, complete work is checked here first.
    """
    codes = [
        _code("COMPLETED", {"action": "MANUALLY_REVIEW"}),
        _code("NO_CONSENT", _return("Did not agree to take part")),
    ]
    if settings.screen_out_cents is None:
        return [*codes, _code("SCREENED_OUT", _return("The study continues with other people"))]
    paid: dict[str, object] = {
        "action": "FIXED_SCREEN_OUT_PAYMENT",
        "fixed_screen_out_reward": settings.screen_out_cents,
        "slots": places,
    }
    return [*codes, _code("FIXED_SCREENOUT", paid)]


def codes_of(study: Study) -> Codes:
    """Return the codes of an existing study by their meaning."""
    codes: Codes = {}
    for code in study.completion_codes or ():
        if code.code is None:
            continue
        if code.code_type == "COMPLETED":
            codes["complete"] = code.code
        elif code.code_type == "NO_CONSENT":
            codes["no_consent"] = code.code
        elif code.code_type in ("SCREENED_OUT", "FIXED_SCREENOUT"):
            codes["screened_out"] = code.code
    return codes


def study_filters(
    http: ProlificHttp, workspace: str, settings: ProlificSettings, group: str | None
) -> list[dict[str, object]]:
    """Return the filters that decide who can take part. Raises ChannelRefused if Prolific has no
    such filter."""
    filters: list[dict[str, object]] = []
    if group is not None:
        filters.append({"filter_id": EXCLUDED_GROUP, "selected_values": [group]})
    if not (settings.countries or settings.min_percent_approved or settings.min_approved):
        return filters
    offered = {
        choices.filter_id: choices
        for choices in http.pages("/api/v1/filters/", FilterChoices, {"workspace_id": workspace})
    }
    if settings.countries:
        values = _countries(_offered(offered, COUNTRY).choices, settings.countries)
        filters.append({"filter_id": COUNTRY, "selected_values": values})
    if settings.min_percent_approved:
        _offered(offered, APPROVAL_RATE)
        least = {"lower": settings.min_percent_approved, "upper": 100}
        filters.append({"filter_id": APPROVAL_RATE, "selected_range": least})
    if settings.min_approved:
        _offered(offered, APPROVALS)
        filters.append({"filter_id": APPROVALS, "selected_range": {"lower": settings.min_approved}})
    return filters


def _offered(offered: Mapping[str, FilterChoices], name: str) -> FilterChoices:
    # Prolific renames filters now and then. A study without a requested filter would recruit, and
    # pay, the wrong people.
    if name not in offered:
        raise ChannelRefused(
            f"Prolific no longer offers the filter {name}, so nothing was published. Remove this "
            "condition from the settings.",
            "no_filter",
        )
    return offered[name]


def _countries(choices: Mapping[str, Any], wanted: list[str]) -> list[str]:
    by_name = {str(label).strip().casefold(): choice for choice, label in choices.items()}
    values = []
    for code in wanted:
        names = NAMES.get(code, ())
        choice = next((by_name[n.casefold()] for n in names if n.casefold() in by_name), None)
        if choice is None:
            raise ChannelRefused(
                f"Prolific does not offer the country {code}. Use two-letter codes such as GB.",
                "no_country",
            )
        values.append(choice)
    return values


def _code(code_type: str, action: dict[str, object]) -> dict[str, object]:
    code = "".join(secrets.choice(_LETTERS) for _ in range(12))
    return {"code": code, "code_type": code_type, "actions": [action], "actor": "participant"}


def _return(reason: str) -> dict[str, object]:
    return {"action": "REQUEST_RETURN", "return_reason": reason}


def _paragraphs(text: str) -> str:
    """Return plain text as the HTML that Prolific shows."""
    lines = [html.escape(line.strip(), quote=False) for line in text.splitlines()]
    return "".join(f"<p>{line}</p>" for line in lines if line)

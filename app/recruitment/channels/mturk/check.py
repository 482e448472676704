"""The check of an MTurk account: its balance, its permissions and what a requester has to know."""

from decimal import Decimal

from app.recruitment.channel import ChannelError, ChannelRefused, Checked
from app.recruitment.channels.mturk.api import MTurkApi
from app.recruitment.channels.mturk.errors import NotAllowed
from app.recruitment.channels.mturk.xml import external_question

CLOSING = (
    "AWS closed MTurk on 30 September 2026. Recruiting works only as long as this endpoint still "
    "answers."
)
PLAY_MONEY = "This is MTurk's sandbox. It uses play money, and almost nobody works there."
# No HIT type, person or assignment has such an id, so these requests have no effect. Without the
# permission, AWS refuses them before it checks whether the id exists.
NOTHING = "LIKEWISE" + "0" * 22
NOBODY = "ALIKEWISE0000"
NEEDED: dict[str, tuple[str, dict[str, object]]] = {
    "see tasks": ("list_hits", {"MaxResults": 1}),
    "create tasks": (
        "create_hit_with_hit_type",
        {
            "HITTypeId": NOTHING,
            "LifetimeInSeconds": 30,
            "Question": external_question("https://example.org/"),
        },
    ),
    "approve work": ("approve_assignment", {"AssignmentId": NOTHING}),
    "pay bonuses": (
        "send_bonus",
        {
            "AssignmentId": NOTHING,
            "WorkerId": NOBODY,
            "BonusAmount": "0.01",
            "Reason": "Permission check",
        },
    ),
}


def check(api: MTurkApi) -> Checked:
    """Check the account. This never raises: what went wrong is listed under problems."""
    problems: list[str] = []
    balance: int | None = None
    try:
        balance = int(Decimal(api.read("get_account_balance")["AvailableBalance"]) * 100)
        problems = _missing(api)
    except ChannelError as error:
        problems = [str(error)]
    return Checked(balance, "USD", api.who, tuple(problems), _warnings(api.site.environment))


def _missing(api: MTurkApi) -> list[str]:
    lacking = []
    for action, (operation, parameters) in NEEDED.items():
        try:
            api.read(operation, **parameters)
        except ChannelRefused:
            continue
        except NotAllowed as error:
            lacking.append(f"These keys can't {action}. {error}")
    return lacking


def _warnings(environment: str) -> tuple[str, ...]:
    known = {"production": (CLOSING,), "sandbox": (CLOSING, PLAY_MONEY)}
    return known.get(environment, ())

"""The check of a Prolific account: whose token it is, and what it can spend."""

from collections.abc import Sequence

from app.recruitment.channel import ChannelRefused, Checked
from app.recruitment.channels.prolific.http import NotAccepted, ProlificHttp
from app.recruitment.channels.prolific.replies import Balance, User, Workspace

_NO_SANDBOX = (
    "Prolific has no sandbox. Everything you publish there is real, and people are paid for it."
)


def workspace_of(http: ProlificHttp, wanted: str = "") -> Workspace:
    """Return the workspace that pays: the one with the id `wanted`, or the account's first."""
    return _chosen(list(http.pages("/api/v1/workspaces/", Workspace)), wanted)


def look_at_account(http: ProlificHttp, wanted: str, real: bool) -> Checked:
    """Check whether the account can recruit now. `real` means that real money is spent."""
    warnings = [_NO_SANDBOX] if real else []
    try:
        who = http.get("/api/v1/users/me/", User)
        workspaces = list(http.pages("/api/v1/workspaces/", Workspace))
        workspace = _chosen(workspaces, wanted)
        balance = http.get(f"/api/v1/workspaces/{workspace.id}/balance/", Balance)
    except (ChannelRefused, NotAccepted) as refusal:
        return Checked(None, "", "", problems=(str(refusal),), warnings=tuple(warnings))
    if len(workspaces) > 1:
        warnings.append(
            f"This token has access to {len(workspaces)} workspaces. Studies are created in "
            f"“{workspace.title}” and paid from there."
        )
    money = balance.available_balance
    problems = () if money else ("Your Prolific workspace has no money. Add some on Prolific.",)
    return Checked(
        balance_cents=money,
        currency=balance.currency_code,
        who=who.email or who.id,
        problems=problems,
        warnings=tuple(warnings),
    )


def _chosen(workspaces: Sequence[Workspace], wanted: str) -> Workspace:
    matches = [workspace for workspace in workspaces if wanted in ("", workspace.id)]
    if not matches:
        raise ChannelRefused("This token has access to no workspace on Prolific.", "no_workspace")
    return matches[0]

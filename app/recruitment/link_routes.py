"""API of a campaign's links, and of what you owe people who used them."""

from collections.abc import Iterator
from typing import Literal
from uuid import UUID

from fastapi.responses import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.attachments import attachment
from app.core.bodies import long_lists, takes
from app.core.copying import in_pieces
from app.core.database import snapshot
from app.core.heavy import heavy
from app.core.paging import Page, Paged
from app.core.row_security import scope_to_account
from app.core.spool import Download
from app.core.web import DatabaseSession
from app.recruitment import invitations, links, payables
from app.recruitment.link_schemas import (
    BadLineOut,
    ChangedLink,
    InvitationOut,
    InvitationsMade,
    LinkOut,
    MarkedOut,
    NewAddressOut,
    NewInvitations,
    NewLink,
    OwedOut,
    PaidOutside,
    PanelOut,
    PanelsOut,
)
from app.recruitment.models import Invitation, Payment, Recruitment
from app.recruitment.settings import PANELS

api = api_router("/campaigns/{campaign_id}", "recruitment")
PayableState = Literal["due", "held", "paid", "cancelled"]


def _link_out(session: Session, link: Recruitment) -> LinkOut:
    campaign = session.get_one(Campaign, link.campaign_id)
    return LinkOut.of(link, campaign, links.work_of(session, [link])[link.id])


@api.post("/links", status_code=201)
def make_link(
    campaign_id: UUID,
    body: NewLink,
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
) -> LinkOut:
    """Make another link for annotators. It is open immediately."""
    plan = links.LinkPlan(
        name=body.name,
        settings=body.settings(),
        password=body.password,
        places=body.places,
        reward_cents=body.reward_cents,
    )
    link = links.make_link(session, account, campaign_id, plan)
    response.headers["Location"] = f"/api/v1/campaigns/{campaign_id}/links/{link.id}"
    return _link_out(session, link)


@api.get("/links")
def list_links(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn, paging: Paged
) -> Page[LinkOut]:
    """List a campaign's links, the oldest first, with their progress."""
    campaign = get_campaign(session, account, campaign_id)
    query = select(Recruitment).where(
        Recruitment.campaign_id == campaign.id, Recruitment.channel == "link"
    )
    rows = [link for (link,) in paging.rows(session, query, Recruitment.id)]
    work = links.work_of(session, rows)
    return paging.page([LinkOut.of(link, campaign, work[link.id]) for link in rows])


@api.get("/links/panels")
def list_panels(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> PanelsOut:
    """List panels and survey tools for which a link's settings can be filled in."""
    get_campaign(session, account, campaign_id)
    return PanelsOut(panels=[PanelOut.of(panel) for panel in PANELS])


@api.get("/links/{link_id}")
def get_link(
    campaign_id: UUID, link_id: UUID, session: DatabaseSession, account: SignedIn
) -> LinkOut:
    """Return one link and its progress."""
    return _link_out(session, links.get_link(session, account, campaign_id, link_id))


@api.patch("/links/{link_id}")
def change_link(
    campaign_id: UUID,
    link_id: UUID,
    body: ChangedLink,
    session: DatabaseSession,
    account: SignedIn,
) -> LinkOut:
    """Change a link's name, places, reward, password, limit, or what it does with people from
    other sites. Recorded earnings stay as they are."""
    changed = links.change_link(session, account, campaign_id, link_id, body.named())
    return _link_out(session, changed)


@api.post("/links/{link_id}/invitations", status_code=201)
@takes(long_lists)
def make_invitations(
    campaign_id: UUID,
    link_id: UUID,
    body: NewInvitations,
    session: DatabaseSession,
    account: SignedIn,
) -> InvitationsMade:
    """Make personal addresses: one for each person on a list, or a number of single-use ones. This
    response is the only one that contains the addresses."""
    if body.number is not None:
        addresses = invitations.make_addresses(session, account, campaign_id, link_id, body.number)
        return InvitationsMade(
            addresses=[NewAddressOut.of(address) for address in addresses], bad_lines=[]
        )
    addresses, bad = invitations.invite_people(
        session, account, campaign_id, link_id, body.people or ""
    )
    return InvitationsMade(
        addresses=[NewAddressOut.of(address) for address in addresses],
        bad_lines=[BadLineOut.of(line) for line in bad],
    )


@api.get("/links/{link_id}/invitations")
def list_invitations(
    campaign_id: UUID,
    link_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
) -> Page[InvitationOut]:
    """List a link's personal addresses and how far their people have got."""
    link = links.get_link(session, account, campaign_id, link_id)
    query = select(Invitation).where(Invitation.recruitment_id == link.id)
    rows = [invitation for (invitation,) in paging.rows(session, query, Invitation.number)]
    return paging.page(
        [InvitationOut.of(invited) for invited in invitations.invited(session, rows)]
    )


@api.post("/links/{link_id}/invitations/{invitation_id}/revoke")
def revoke_invitation(
    campaign_id: UUID,
    link_id: UUID,
    invitation_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
) -> InvitationOut:
    """Withdraw an address so that it can no longer be used. Work that was started ends, and its
    completed part is owed."""
    invitation = invitations.revoke(session, account, campaign_id, link_id, invitation_id)
    session.flush()
    [shown] = invitations.invited(session, [invitation])
    return InvitationOut.of(shown)


@api.post("/links/{link_id}/{action}")
def act_on_link(
    campaign_id: UUID,
    link_id: UUID,
    action: Literal["pause", "resume", "stop"],
    session: DatabaseSession,
    account: SignedIn,
) -> LinkOut:
    """Pause, stop or reopen a link. While it is closed, no new people can start, and people at work
    can finish."""
    return _link_out(session, links.act_on_link(session, account, campaign_id, link_id, action))


@api.get("/owed")
def list_owed(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    paging: Paged,
    state: PayableState | None = None,
) -> Page[OwedOut]:
    """List what people who used links have earned, the newest first. You pay them yourself."""
    campaign = get_campaign(session, account, campaign_id)
    query = payables.payable_query(campaign)
    if state is not None:
        query = query.where(Payment.state == state)
    rows = paging.rows(session, query, Payment.id, newest_first=True)
    return paging.page([OwedOut.of(payables.payable_row(campaign, *row)) for row in rows])


@api.get("/owed.csv", response_class=Response)
@heavy
def download_owed(
    campaign_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    state: PayableState | None = None,
) -> Response:
    """Download what people who used links have earned as CSV, the oldest first, with completion
    codes."""
    campaign = get_campaign(session, account, campaign_id)
    headers = attachment(campaign.name, "owed.csv")

    def lines() -> Iterator[bytes]:
        with snapshot() as own:
            scope_to_account(own, account.id)
            campaign = own.get_one(Campaign, campaign_id)
            yield from in_pieces(payables.payables_csv(own, campaign, state))

    return Download(account.id, lines, "text/csv; charset=utf-8", headers)


@api.post("/owed/paid")
def mark_owed_paid(
    campaign_id: UUID, body: PaidOutside, session: DatabaseSession, account: SignedIn
) -> MarkedOut:
    """Mark payments that you made yourself as paid: either all of them or none."""
    marked = payables.mark_paid(session, account, campaign_id, body.payment_ids, body.note)
    return MarkedOut(marked=marked)

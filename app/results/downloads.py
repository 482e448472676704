"""API of the exports of a campaign."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel

from app.accounts.api import api_router
from app.accounts.models import Account
from app.accounts.routes import SignedIn
from app.accounts.service import record_audit
from app.campaigns.models import Campaign
from app.campaigns.service import get_campaign
from app.core.attachments import attachment
from app.core.database import snapshot
from app.core.heavy import heavy
from app.core.row_security import scope_to_account
from app.core.spool import Download
from app.core.web import DatabaseSession
from app.results.catalogue import (
    BY_NAME,
    EXPORT_VERSION,
    Export,
    Options,
    exports_of,
    get_export,
    make,
)
from app.results.comparisons import PER_ANSWER

api = api_router("/campaigns/{campaign_id}", "exports")
VERSION_HEADER = "Likewise-Export-Version"


class ExportOut(BaseModel):
    """An export, and what it needs: answers, a model, or a model that has learned attributes.

    `rows` does not count the header; it is null if the number is not known without counting.
    `identities` tells whether the file can say who people are (`?identities=true`).
    """

    file: str
    title: str
    about: str
    kind: str
    group: Literal["answers", "payments", "model", "everything"]
    needs: Literal["answers", "model", "insight", "memberships", "labels"]
    rows: int | None
    identities: bool

    @classmethod
    def of(cls, export: Export, campaign: Campaign) -> "ExportOut":
        return cls(
            file=export.name,
            title=export.title,
            about=export.about,
            kind=export.kind,
            group=export.group,
            needs=export.needs,
            rows=export.rows(campaign),
            identities=export.identities,
        )


class ExportsOut(BaseModel):
    """The exports of a campaign. `version` is the version of the file formats (docs/exports.md)."""

    version: int
    files: list[ExportOut]


@api.get("/exports")
def list_exports(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> ExportsOut:
    """List the exports that are available for the campaign, and what each needs."""
    campaign = get_campaign(session, account, campaign_id)
    files = [ExportOut.of(export, campaign) for export in exports_of(campaign)]
    return ExportsOut(version=EXPORT_VERSION, files=files)


@api.get("/export/{file}", response_class=Response)
@heavy
def export_file(
    campaign_id: UUID,
    file: Annotated[str, Path(json_schema_extra={"enum": list(BY_NAME)})],
    session: DatabaseSession,
    account: SignedIn,
    version: Annotated[
        int | None,
        Query(ge=1, le=2**31 - 1, description="Version of the model; the newest by default."),
    ] = None,
    per_answer: Annotated[
        int, Query(ge=1, le=100_000, description="Maximum number of triplets per answer.")
    ] = PER_ANSWER,
    identities: Annotated[
        bool,
        Query(
            description="Whether link_parameters.csv says who people are instead of pseudonyms. "
            "This needs an account that can edit the campaign, and is recorded."
        ),
    ] = False,
) -> Response:
    """Download an export of the answers, of a model, or of everything (`archive.zip`).

    Exports of answers are streamed. If one fails in the middle, the connection ends without the end
    mark, so that no client takes the file for complete.
    """
    export = get_export(file)
    reveals = export.identities and identities
    campaign = get_campaign(session, account, campaign_id, edit=reveals)
    headers = {
        **attachment(campaign.name, export.name),
        VERSION_HEADER: str(EXPORT_VERSION),
    }
    options = Options(per_answer, reveals)
    if reveals:
        record_audit(session, account.id, "campaign.identities_downloaded", "campaign", campaign.id)
    if export.group == "everything":
        record_audit(session, account.id, "campaign.archive_downloaded", "campaign", campaign.id)
    if export.of_answers is not None:
        pieces = partial(_pieces, account, campaign, export, options)
        return Download(account.id, pieces, export.media_type, headers)
    whole = b"".join(make(session, campaign, export, version, options))
    return Response(whole, media_type=export.media_type, headers=headers)


def _pieces(
    account: Account, campaign: Campaign, export: Export, options: Options
) -> Iterator[bytes]:
    # The request's own transaction has already ended when the body is sent.
    with snapshot() as session:
        scope_to_account(session, account.id)
        yield from make(session, campaign, export, None, options)

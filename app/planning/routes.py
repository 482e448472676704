"""API for planning: options, a campaign's needs and costs, and dry runs."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.campaigns.annotation_settings import AnnotationSettings
from app.campaigns.plan_settings import PlanSettings
from app.campaigns.schemas import form_schema
from app.campaigns.service import get_campaign
from app.core.web import DatabaseSession
from app.features.sets import set_names
from app.features.sources import with_sets
from app.kinds import all_kinds
from app.planning import crowd, crowd_runs, service
from app.planning.crowd_schemas import CrowdOut, CrowdRunIn
from app.planning.schemas import (
    DryRunIn,
    GroupingsOut,
    KindOut,
    OptionsOut,
    PlanOut,
    StrategyOut,
)
from app.strategies import all_strategies, kinds_of

api = api_router("", "planning")


@api.get("/options")
def read_options(
    session: DatabaseSession,
    account: SignedIn,
    campaign_id: Annotated[
        UUID | None,
        Query(description="Also offer the feature sets of this campaign's collection."),
    ] = None,
) -> OptionsOut:
    """Return what you can choose for a campaign, with ranges and help texts."""
    sets: list[str] = []
    if campaign_id is not None:
        campaign = get_campaign(session, account, campaign_id)
        sets = set_names(session, campaign.collection_id)
    return OptionsOut(
        kinds={kind.name: KindOut.of(kind) for kind in all_kinds()},
        strategies=[
            StrategyOut(
                name=strategy.name,
                title=strategy.title,
                summary=strategy.summary,
                kinds=[kind.name for kind in kinds_of(strategy)],
                default_rounds=strategy.default_rounds,
                settings=with_sets(strategy.settings_model.model_json_schema(), sets),
            )
            for strategy in all_strategies()
        ],
        campaign=with_sets(form_schema(), sets),
        annotation=AnnotationSettings.model_json_schema(),
        plan=PlanSettings.model_json_schema(),
    )


@api.get("/campaigns/{campaign_id}/plan")
def read_plan(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> PlanOut:
    """Return the work, the costs, and what the newest dry run predicts."""
    campaign = get_campaign(session, account, campaign_id)
    return PlanOut.of(service.read_plan(session, campaign), campaign.currency)


@api.get("/campaigns/{campaign_id}/groupings")
def read_groupings(campaign_id: UUID, session: DatabaseSession, account: SignedIn) -> GroupingsOut:
    """Return what a simulated crowd could group the campaign's images by."""
    groupings = crowd.read_groupings(session, get_campaign(session, account, campaign_id))
    return GroupingsOut(
        attributes=groupings.attributes,
        known=groupings.known,
        features=groupings.features,
        usual=groupings.usual,
        values=groupings.values,
    )


@api.post("/campaigns/{campaign_id}/dry-runs", status_code=201)
def start_dry_run(
    campaign_id: UUID, body: DryRunIn, session: DatabaseSession, account: SignedIn
) -> PlanOut:
    """Start a dry run: a simulated crowd plays the campaign in the background. GET …/plan shows its
    progress."""
    service.request_dry_run(session, account, campaign_id, body.by, body.annotators, body.noise)
    campaign = get_campaign(session, account, campaign_id)
    return PlanOut.of(service.read_plan(session, campaign), campaign.currency)


@api.get("/campaigns/{campaign_id}/simulated-crowd")
def read_simulated_crowd(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> CrowdOut:
    """Return whether a simulated crowd can answer the campaign, and what the newest one has
    done."""
    campaign = get_campaign(session, account, campaign_id)
    return CrowdOut.of(crowd_runs.read_options(session, campaign))


@api.post("/campaigns/{campaign_id}/simulated-crowd", status_code=201)
def start_simulated_crowd(
    campaign_id: UUID, body: CrowdRunIn, session: DatabaseSession, account: SignedIn
) -> CrowdOut:
    """Let a simulated crowd answer grids of the running campaign in the background, by the rules
    that people have. Its answers are marked and count for no figure about people, but they use up
    the budget, and models learn from them: try it with a copy of the campaign."""
    values = body.model_dump()
    crowd_runs.request_crowd(session, account, campaign_id, **values)
    campaign = get_campaign(session, account, campaign_id)
    return CrowdOut.of(crowd_runs.read_options(session, campaign))


@api.post("/campaigns/{campaign_id}/simulated-crowd/stop")
def stop_simulated_crowd(
    campaign_id: UUID, session: DatabaseSession, account: SignedIn
) -> CrowdOut:
    """Stop the simulated crowd that answers the campaign. Its answers are kept. Stopping one that
    has ended changes nothing."""
    crowd_runs.stop_crowd(session, account, campaign_id)
    campaign = get_campaign(session, account, campaign_id)
    return CrowdOut.of(crowd_runs.read_options(session, campaign))

"""`likewise demo` creates two collections and two campaigns, and a crowd that answers them."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.core.errors import InvalidInput, NotFound
from app.planning.crowd import CrowdTraits
from demo import EMOJI_FOLDER
from demo.colours import write_colours
from likewise import environment
from likewise.commands.collections import collection_from_folder
from likewise.commands.shared import owner_of
from likewise.commands.simulate import run_crowd

EMOJI_CAMPAIGN = "Emoji: what belongs together?"
COLOUR_CAMPAIGN = "300 colours"
# By kind of task.
GROUPED_BY = {"grid": "category,colour", "bins": "features"}
SEEDING = 7_311_004
EMOJI_PAGES = {
    "consent": """## What this is about

We want to know **which pictures people see as similar**. You sort sets of small pictures; a set
takes about a minute.

- There are no right or wrong answers.
- We store your groups, the words you write and how long it took. We don't know who you are.
- You can stop at any time by closing the page.
""",
    "known_attribute": "category",
    "practice": 1,
}


def seed_demo(session: Session, owner: Account) -> list[Campaign]:
    """Create and return the demo's campaigns; existing ones are left unchanged."""
    # `likewise up` creates the demo at its first start while somebody may run `likewise demo`.
    session.execute(select(func.pg_advisory_xact_lock(SEEDING)))
    mine = Campaign.is_demo, Campaign.owner_id == owner.id
    existing = session.scalars(select(Campaign).where(*mine).order_by(Campaign.created_at)).all()
    if existing:
        return list(existing)
    emoji, _ = collection_from_folder(session, owner, EMOJI_FOLDER, "Emoji")
    with tempfile.TemporaryDirectory() as folder:
        colours, _ = collection_from_folder(
            session, owner, write_colours(Path(folder)), "300 colours"
        )
    plans = [
        CampaignPlan(
            name=EMOJI_CAMPAIGN,
            collection_id=emoji.id,
            kind="grid",
            strategy="cen",
            question="Which of these pictures belong together? Group them as you see fit.",
            annotation=EMOJI_PAGES,
            reward_cents=150,
            budget=240,
            rounds=4,
            ready_share=0.25,
            learn_every=60,
            seed=1,
        ),
        CampaignPlan(
            name=COLOUR_CAMPAIGN,
            collection_id=colours.id,
            kind="bins",
            strategy="crowdster",
            question="Put similar colours in the same bin.",
            budget=235,
            rounds=5,
            # The simulated crowd is faster than people and would use up all prepared grids.
            ready_share=0.25,
            seed=1,
        ),
    ]
    campaigns = [create_campaign(session, owner, plan) for plan in plans]
    for campaign in campaigns:
        campaign.is_demo = True
    return [start_campaign(session, owner, campaign.id) for campaign in campaigns]


def demo(
    play: Annotated[bool, typer.Option(help="Let a simulated crowd answer.")] = False,
    pace: Annotated[float, typer.Option(min=0, help="Seconds per grid for each annotator.")] = 1.5,
    annotators: Annotated[int, typer.Option(min=1, max=200)] = 8,
) -> None:
    """Create the demo. With --play, a simulated crowd answers while you watch the results."""
    environment.load()
    from app.core.database import transaction
    from app.core.settings import get_settings

    with transaction() as session:
        campaigns = seed_demo(session, owner_of(session, ""))
        running = [campaign for campaign in campaigns if campaign.state == "running"]
    for campaign in campaigns:
        address = f"{get_settings().base_url}/campaigns/{campaign.id}"
        typer.echo(f"{campaign.name}: {campaign.state}\n  {address}")
    if not play:
        return
    if not running:
        raise NotFound(
            "Both demo campaigns have ended. Create your own from their collections, or start "
            "again with another data folder: LIKEWISE_DATA=.likewise-2 make up."
        )
    _play(running, annotators, pace)


def _play(campaigns: list[Campaign], annotators: int, pace: float) -> None:
    """Let one crowd answer each campaign, all at once. Raises InvalidInput if any of them failed,
    after the others are done."""
    traits = CrowdTraits(annotators)
    with ThreadPoolExecutor(len(campaigns)) as pool:
        crowds = {
            campaign.name: pool.submit(
                run_crowd, str(campaign.id), GROUPED_BY[campaign.kind], traits, pace
            )
            for campaign in campaigns
        }
    failures = {name: crowd.exception() for name, crowd in crowds.items()}
    reasons = [f"{name}: {error}" for name, error in failures.items() if error is not None]
    if reasons:
        raise InvalidInput("The simulated crowd failed. " + " ".join(reasons))
    typer.echo("The simulated crowd is done.")

"""Campaigns with very many answers, made by the database itself in one go."""

from uuid import UUID

from sqlalchemy import text

from app.campaigns.models import Campaign
from app.core.database import transaction

N_ANNOTATORS = 200
# About what the annotators' page records of a grid of 24: moves, words, the focus of the window.
N_EVENTS = 60
STATEMENTS = """
SET LOCAL statement_timeout = 0;
UPDATE campaign SET budget = :n, n_answers = :n, n_annotators = :annotators WHERE id = :campaign;
UPDATE round SET n_wanted = :n, n_answers = :n WHERE campaign_id = :campaign AND number = 1;
INSERT INTO annotator (id, campaign_id, position)
    SELECT gen_random_uuid(), :campaign, k FROM generate_series(0, :annotators - 1) k;
INSERT INTO assignment (id, campaign_id, annotator_id, channel, state, target, n_answered,
                        completion_code)
    SELECT gen_random_uuid(), :campaign, id, 'link', 'completed', 10, 10, 'CODE' FROM annotator
    WHERE campaign_id = :campaign;
INSERT INTO grid (round_id, campaign_id, number, images, wanted, n_answers)
    SELECT round.id, :campaign, 1000000 + k,
        ARRAY(SELECT (k * 7 + j * :step) % n_images FROM generate_series(0, grid_size - 1) j), 1, 1
    FROM generate_series(1, :n) k, round JOIN campaign ON campaign.id = campaign_id
    WHERE campaign_id = :campaign AND round.number = 1;
INSERT INTO answer (id, campaign_id, grid_id, annotator_id, assignment_id, state, leased_at,
                    lease_expires_at, submitted_at, groups, descriptions, elapsed_ms, trace,
                    draft_version)
    SELECT gen_random_uuid(), :campaign, grid.id, annotator.id, assignment.id, 'submitted',
        moment, moment, moment, chosen.groups,
        ARRAY['warm colours', 'round, soft things', 'the "others"', 'für später'],
        20000 + grid.id % 40000, :trace, 0
    FROM grid
    JOIN annotator ON annotator.campaign_id = :campaign
        AND annotator.position = grid.id % :annotators
    JOIN assignment ON annotator_id = annotator.id,
    LATERAL (SELECT ARRAY(SELECT (grid.id + j * j) % 5 - 1 FROM generate_series(1,
        cardinality(images)) j)::smallint[] AS groups) chosen,
    LATERAL (SELECT timestamptz '2026-01-01' + grid.id * interval '1 millisecond' AS moment) at
    WHERE grid.campaign_id = :campaign AND grid.number > 1000000;
"""


def add_answers(campaign: Campaign, n: int) -> UUID:
    """Give a running campaign of nobody's so far `n` answers, to a grid each; returns its id."""
    events = ", ".join(f'[{1000 * k}, "put", [{k}], {k % 4}]' for k in range(N_EVENTS))
    # Images of a grid differ: the step has no divisor in common with their number.
    step = next(prime for prime in (7, 11, 13, 17) if campaign.n_images % prime)
    values = {
        "campaign": campaign.id,
        "n": n,
        "annotators": N_ANNOTATORS,
        "step": step,
        "trace": f"[{events}]",
    }
    with transaction() as session:
        for statement in STATEMENTS.split(";\n"):
            if statement.strip():
                used = {name: value for name, value in values.items() if f":{name}" in statement}
                session.execute(text(_typed(statement)), used)
    with transaction() as session:
        session.execute(text("ANALYZE"))
    return campaign.id


def _typed(statement: str) -> str:
    return statement.replace(":trace", "CAST(:trace AS jsonb)").replace(
        ":campaign", "CAST(:campaign AS uuid)"
    )

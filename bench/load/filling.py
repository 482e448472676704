"""Campaigns that have had answers for long: rows as people's work leaves them, written by SQL.

Earlier rounds are full and closed, one answer a grid. Everybody has answered fifty grids, while
nine others were at work, and one grid in fifty was first given to somebody who left it.
"""

from __future__ import annotations

from uuid import UUID

import psycopg
from psycopg import sql

from testbed.databases import connect

PER_ROUND, PER_PERSON, AT_ONCE = 10_000, 50, 10
PATTERNS = 1_000
# Tables that are filled, and those that change.
TABLES = ("campaign", "round", "grid", "annotator", "annotator_identity", "assignment", "answer")

_STATEMENTS = (
    # Keys hold by construction, and the rows they point to are there.
    "SET LOCAL session_replication_role = replica",
    # What exists becomes the last rounds. They are moved far away first, as numbers are unique.
    "UPDATE round SET number = -number WHERE campaign_id = %(campaign)s",
    """UPDATE round SET number = %(rounds)s - number, basis = %(rounds)s + basis
        WHERE campaign_id = %(campaign)s""",
    """INSERT INTO round (id, campaign_id, number, state, n_wanted, n_answers, basis, closed_at)
        SELECT uuidv7(), %(campaign)s, number, 'closed', %(per_round)s, %(per_round)s, number - 1,
            now() FROM generate_series(1, %(rounds)s) AS number""",
    """UPDATE campaign SET budget = budget + %(answers)s, rounds = rounds + %(rounds)s,
            n_answers = %(answers)s, n_annotators = %(people)s,
            learn_at = learn_at + %(answers)s,
            laid_out = array_fill(%(per_round)s / answers_per_grid, ARRAY[%(rounds)s])
        WHERE id = %(campaign)s""",
    """CREATE TEMP TABLE person ON COMMIT DROP AS
        SELECT number::int, uuidv7() AS annotator, uuidv7() AS assignment
        FROM generate_series(0, %(people)s - 1) AS number""",
    """INSERT INTO annotator (id, campaign_id, position, instructed_at)
        SELECT annotator, %(campaign)s, number, now() FROM person""",
    """INSERT INTO annotator_identity (annotator_id, campaign_id, channel, key_hash)
        SELECT annotator, %(campaign)s, 'link', encode(sha256(annotator::text::bytea), 'hex')
        FROM person""",
    """INSERT INTO assignment (id, campaign_id, annotator_id, recruitment_id, channel, state,
            target, n_answered, completion_code, completed_at)
        SELECT assignment, %(campaign)s, annotator,
            (SELECT min(id::text)::uuid FROM recruitment WHERE campaign_id = %(campaign)s), 'link',
            'completed', %(per_person)s, %(per_person)s, 'FILL-FILL', now()
        FROM person""",
    """CREATE TEMP TABLE pattern ON COMMIT DROP AS
        SELECT (number %% %(patterns)s)::int AS number, images,
            ARRAY(SELECT image %% 3 FROM unnest(images) AS image)::smallint[] AS groups,
            (SELECT jsonb_agg(jsonb_build_object('t', 100 * (k - 1), 'image', image))
                FROM unnest(images) WITH ORDINALITY AS each (image, k)) AS trace
        FROM grid WHERE campaign_id = %(campaign)s AND number < %(patterns)s
        AND round_id = (SELECT id FROM round WHERE campaign_id = %(campaign)s AND state = 'open')
        """,
    """CREATE TEMP TABLE done ON COMMIT DROP AS
        SELECT n::int, round.id AS round, round.basis, n %% %(per_round)s AS number,
            (n / %(per_shift)s * %(at_once)s + n %% %(at_once)s)::int AS person,
            now() - (%(answers)s - n) * interval '0.5 seconds' AS at
        FROM generate_series(0, %(answers)s - 1) AS n
        JOIN round ON round.campaign_id = %(campaign)s AND round.number = n / %(per_round)s + 1
        ORDER BY n""",
    """INSERT INTO grid
            (round_id, campaign_id, number, images, wanted, n_answers, basis, created_at)
        SELECT done.round, %(campaign)s, done.number, images, 1, 1, basis, at
        FROM done JOIN pattern ON pattern.number = n %% (SELECT count(*) FROM pattern)
        ORDER BY n""",
    """CREATE TEMP TABLE grid_of ON COMMIT DROP AS
        SELECT n, grid.id, person AS number, at FROM done
        JOIN grid ON grid.round_id = done.round AND grid.number = done.number ORDER BY n""",
    """INSERT INTO answer (id, campaign_id, grid_id, annotator_id, assignment_id, state, leased_at,
            lease_expires_at, submitted_at, groups, descriptions, elapsed_ms, trace, draft_version,
            idempotency_key, request_hash)
        SELECT uuidv7(), %(campaign)s, id, annotator, assignment, 'submitted',
            at - interval '8 seconds', at + interval '15 minutes', at, groups,
            '{round,another,third}', 8000, trace, 0, gen_random_uuid()::text,
            encode(sha256(n::text::bytea), 'hex')
        FROM grid_of JOIN person USING (number)
        JOIN pattern ON pattern.number = n %% (SELECT count(*) FROM pattern)
        ORDER BY n""",
    """INSERT INTO answer (id, campaign_id, grid_id, annotator_id, assignment_id, state, leased_at,
            lease_expires_at, descriptions, trace, draft_version)
        SELECT uuidv7(), %(campaign)s, id, annotator, assignment, 'leased',
            at - interval '20 minutes', at - interval '5 minutes', '{}', '[]', 0
        FROM grid_of
        JOIN person ON person.number = (grid_of.number + 1) %% %(people)s
        WHERE n %% 50 = 0""",
)


def fill(database: str, campaign: UUID, answers: int) -> None:
    """The running campaign, which nobody has worked on, has had so many answers before. Their
    number: a multiple of a round's, or less than one round's and a multiple of 500."""
    per_round = min(answers, PER_ROUND)
    per_shift = PER_PERSON * AT_ONCE
    if answers % per_round or answers % per_shift:
        raise ValueError(f"{answers} answers do not fill rounds and assignments")
    values = {
        "campaign": campaign,
        "answers": answers,
        "per_round": per_round,
        "rounds": answers // per_round,
        "people": answers // PER_PERSON,
        "per_person": PER_PERSON,
        "per_shift": per_shift,
        "at_once": AT_ONCE,
        "patterns": PATTERNS,
    }
    with connect(database) as connection, connection.transaction():
        index = _without_index_of_images(connection) if answers > PER_ROUND else None
        # CREATE TABLE takes no parameters from the server's side.
        cursor = psycopg.ClientCursor(connection)
        for statement in _STATEMENTS:
            cursor.execute(statement, values)
        if index is not None:
            connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
            connection.execute(index)


def _without_index_of_images(connection: psycopg.Connection) -> str:
    """Row by row it takes longer than all else; returns the statement that makes it again."""
    row = connection.execute("SELECT pg_get_indexdef('ix_grid_images'::regclass)").fetchone()
    assert row is not None
    connection.execute("DROP INDEX ix_grid_images")
    return str(row[0])


def settle(database: str) -> None:
    """As after a while: planned by statistics, without what vacuum and checkpoints still have to
    do."""
    with connect(database) as connection:
        for name in TABLES:
            connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(name)))
        connection.execute("CHECKPOINT")

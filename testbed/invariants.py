"""What must be true of the database when nobody is at work: queries that find what breaks it."""

from collections.abc import Mapping

from sqlalchemy import func, select, text

from app.core.database import transaction
from app.jobs.models import Job

# Each finds rows only where its sentence is broken.
INVARIANTS = {
    "a grid counts its submitted answers, and has no more than it wants": """
        SELECT grid.id, grid.n_answers, grid.wanted, count(answer.id) AS submitted FROM grid
        LEFT JOIN answer ON answer.grid_id = grid.id AND answer.state = 'submitted'
        WHERE grid.role = 'ask' GROUP BY grid.id
        HAVING grid.n_answers <> count(answer.id) OR count(answer.id) > grid.wanted""",
    "a round counts the answers of its grids": """
        SELECT round.id, round.n_answers, sum(grid.n_answers) FROM round
        JOIN grid ON grid.round_id = round.id GROUP BY round.id
        HAVING round.n_answers <> sum(grid.n_answers)""",
    "a campaign counts its answers and stays within its budget": """
        SELECT campaign.id, n_answers, n_surplus, n_imported, budget FROM campaign
        WHERE n_answers > budget OR n_answers + n_imported <> (
            SELECT count(*) FROM answer JOIN grid ON grid.id = grid_id
            WHERE answer.campaign_id = campaign.id AND answer.state = 'submitted'
            AND grid.role = 'ask')
        OR n_surplus <> (
            SELECT count(*) FROM answer JOIN grid ON grid.id = grid_id
            WHERE answer.campaign_id = campaign.id AND answer.state = 'surplus'
            AND grid.role = 'ask')
        OR n_imported <> (SELECT count(*) FROM answer
            WHERE answer.campaign_id = campaign.id AND imported_as IS NOT NULL)""",
    "a grid counts its places that are asked again, and has room for them": """
        SELECT grid.id, grid.n_reopened, count(lost.id) FROM grid
        LEFT JOIN answer lost ON lost.grid_id = grid.id AND lost.reopened_at IS NOT NULL
            AND NOT EXISTS (SELECT FROM answer WHERE answer.replaces = lost.id)
        GROUP BY grid.id HAVING grid.n_reopened <> count(lost.id)
            OR grid.n_answers + grid.n_reopened > grid.wanted""",
    "a campaign counts its places that are asked again": """
        SELECT campaign.id, campaign.n_reopened FROM campaign WHERE n_reopened <> (
            SELECT coalesce(sum(n_reopened), 0) FROM grid WHERE campaign_id = campaign.id)""",
    "a round that was full lacks only what is asked again": """
        SELECT round.id, round.state, n_answers, n_wanted FROM round WHERE number > 0
        AND state IN ('closed', 'reopened') AND (n_answers = n_wanted) <> (state = 'closed')
        OR state = 'reopened' AND n_wanted <> n_answers + (
            SELECT sum(n_reopened) FROM grid WHERE round_id = round.id)""",
    "an answer takes the place of one to the same grid that lost it": """
        SELECT answer.id FROM answer JOIN answer lost ON lost.id = answer.replaces
        WHERE lost.grid_id <> answer.grid_id OR lost.annotator_id = answer.annotator_id
        OR lost.reopened_at IS NULL OR lost.state <> 'surplus'""",
    "an assignment counts its annotator's answers": """
        SELECT assignment.id, n_answered, count(answer.id) FROM assignment
        LEFT JOIN answer ON answer.assignment_id = assignment.id
            AND answer.state IN ('submitted', 'surplus')
        GROUP BY assignment.id HAVING n_answered <> count(answer.id)""",
    "nobody has two live leases that are not ahead": """
        SELECT annotator_id, count(*) FROM answer
        WHERE state = 'leased' AND lease_expires_at > now() AND NOT ahead
        GROUP BY annotator_id HAVING count(*) > 1""",
    "submitted and live leases of a grid are no more than it wants": """
        SELECT grid.id, wanted, count(*) FROM grid JOIN answer ON answer.grid_id = grid.id
        WHERE grid.role = 'ask' AND (answer.state = 'submitted'
            OR answer.state = 'leased' AND lease_expires_at > now())
        GROUP BY grid.id HAVING count(*) > wanted""",
    "annotators of a campaign have the positions from 0 on, without a gap": """
        SELECT campaign_id, count(*), min(position), max(position) FROM annotator
        GROUP BY campaign_id HAVING min(position) <> 0 OR max(position) <> count(*) - 1""",
    "a campaign counts all annotators who have answered": """
        SELECT campaign.id, n_annotators, position FROM campaign
        JOIN annotator ON annotator.campaign_id = campaign.id
        JOIN answer ON answer.annotator_id = annotator.id AND groups IS NOT NULL
        WHERE position >= n_annotators""",
    "an answer groups the images of its grid": """
        SELECT answer.id FROM answer JOIN grid ON grid.id = grid_id
        WHERE groups IS NOT NULL AND cardinality(groups) <> cardinality(images)""",
    "a finished job has one model, any other none": """
        SELECT job.id, job.state, count(model.id) FROM job
        LEFT JOIN model ON model.job_id = job.id WHERE job.kind = 'learn' GROUP BY job.id
        HAVING count(model.id) <> CASE job.state WHEN 'done' THEN 1 ELSE 0 END""",
    "a campaign has one active job of a kind": """
        SELECT campaign_id, kind, count(*) FROM job WHERE state IN ('queued', 'running')
        GROUP BY campaign_id, kind HAVING count(*) > 1""",
    # The most that LIKEWISE_JOB_MAX_ATTEMPTS may be set to.
    "a job has no more attempts than it may": """
        SELECT id, attempts FROM job WHERE attempts > 20""",
    "nothing runs whose worker was lost": """
        SELECT id, lease_until FROM job WHERE state = 'running' AND lease_until < now()""",
    "a job that failed says why": """
        SELECT id FROM job WHERE state = 'failed' AND coalesce(error, '') = ''""",
    "versions of models have no gaps": """
        SELECT campaign_id, count(*), max(version) FROM model
        GROUP BY campaign_id HAVING count(*) <> max(version)""",
    "nothing waits in the outbox": """
        SELECT id, task FROM outbox WHERE dispatched_at IS NULL""",
    "a person's work is paid once by each rule": """
        SELECT coalesce(assignment_id, submission_id), rule, count(*) FROM payment
        WHERE state <> 'cancelled' GROUP BY 1, 2 HAVING count(*) > 1""",
    "a submission has one reward": """
        SELECT submission_id, count(*) FROM payment
        WHERE kind = 'reward' AND state <> 'cancelled' AND submission_id IS NOT NULL
        GROUP BY submission_id HAVING count(*) > 1""",
    "who is paid for a submission is who did its assignment": """
        SELECT payment.id FROM payment JOIN assignment ON assignment.id = payment.assignment_id
        WHERE payment.annotator_id IS DISTINCT FROM assignment.annotator_id""",
    "what was paid says as what, and nobody wonders whether anything was": """
        SELECT id, state FROM payment
        WHERE state = 'running' OR state = 'paid' AND kind <> 'bonus' AND external_id IS NULL""",
    "a recruitment keeps to its limit": """
        SELECT recruitment.id, spend_limit_cents, sum(amount_cents + fee_cents) FROM recruitment
        JOIN payment ON payment.recruitment_id = recruitment.id
        WHERE payment.state IN ('due', 'running', 'paid', 'parked')
        GROUP BY recruitment.id HAVING sum(amount_cents + fee_cents) > spend_limit_cents""",
}


def broken_invariants(invariants: Mapping[str, str] = INVARIANTS) -> dict[str, list[str]]:
    """The sentences that do not hold, with the first rows that break them."""
    broken = {}
    with transaction() as session:
        for sentence, query in invariants.items():
            rows = session.execute(text(query)).fetchmany(5)
            if rows:
                broken[sentence] = [str(row._mapping) for row in rows]
    return broken


def nothing_is_running() -> bool:
    """No training runs, waits for a worker, or is being handed to one."""
    with transaction() as session:
        query = select(func.count()).where(Job.state.in_(("queued", "running")))
        busy = session.scalar(query)
    return not busy and "nothing waits in the outbox" not in broken_invariants()

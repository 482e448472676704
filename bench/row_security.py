"""Measures the cost of row-level security for a large campaign: `python -m bench.row_security`.

It runs the same services on the same rows as the owner of the tables and as a requester, in turn,
so that other work on the machine slows both. Writes docs/benchmarks/row_security.md.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.annotation.models import Answer
from app.annotation.records import answers_of
from app.campaigns.models import Campaign
from app.campaigns.service import list_campaigns
from app.collections.models import Collection
from app.collections.search import count_images, filter_of
from app.core.database import get_engine, transaction
from app.core.row_security import scope_to_account
from app.results.catalogue import Options, get_export, make
from app.results.evidence import count_evidence
from app.results.service import get_model, read_map, read_progress
from bench.harness.paths import publish
from bench.harness.servers import own_servers, use_new_database
from testbed.builders import a_campaign, a_collection, a_model, an_account
from testbed.many import add_answers
from testbed.servers import Servers

N_IMAGES = 20_000
# Campaigns of each of two accounts; each statement queries once what an account can see.
N_CAMPAIGNS = 100
TIMES = 5

MANY_IMAGES = """
INSERT INTO image (id, collection_id, position, sha256, filename, width, height, attributes)
    SELECT gen_random_uuid(), :collection, k, lpad(k::text, 64, 'x'), 'more-' || k || '.png', 9, 9,
        '{"colour": "red"}' FROM generate_series(30, :n - 1) k;
UPDATE collection SET n_images = :n WHERE id = :collection;
UPDATE campaign SET n_images = :n WHERE id = :campaign;
INSERT INTO embedding (model_id, position, vector, x, y)
    SELECT model.id, k, '[0,1]', random(), random() FROM generate_series(1, :n - 1) k, model
    WHERE campaign_id = :campaign
"""
MANY_CAMPAIGNS = """
INSERT INTO campaign SELECT (jsonb_populate_record(c, jsonb_build_object(
    'id', gen_random_uuid(), 'link_token', 'token-' || gen_random_uuid()))).*
    FROM campaign c, generate_series(1, :n) k WHERE c.id = :campaign
"""
Work = Callable[[Session, Account, Campaign], object]


def a_search(session: Session, _: Account, campaign: Campaign) -> int:
    collection = session.get_one(Collection, campaign.collection_id)
    return count_images(session, collection, filter_of("77", ["colour:red"], []))


def a_page(session: Session, _: Account, campaign: Campaign) -> int:
    return len(session.execute(answers_of(campaign).order_by(Answer.id).limit(100)).all())


def evidence(session: Session, _: Account, campaign: Campaign) -> int:
    return len(count_evidence(session, campaign, 77, [84, 91]))


def the_map(session: Session, _: Account, campaign: Campaign) -> object:
    return read_map(session, campaign, get_model(session, campaign))


def a_file(name: str) -> Work:
    def write(session: Session, _: Account, campaign: Campaign) -> int:
        return sum(map(len, make(session, campaign, get_export(name), None, Options(1))))

    return write


WORKS: dict[str, Work] = {
    "list of campaigns": lambda session, account, _: len(list_campaigns(session, account)),
    "monitor": lambda session, _, campaign: read_progress(session, campaign).campaign.state,
    "100 answers with their grids": a_page,
    "search of images": a_search,
    "evidence for an image": evidence,
    "map": the_map,
    "answers.csv": a_file("answers.csv"),
    "traces.jsonl": a_file("traces.jsonl"),
}


def seconds(work: Work, account: Account, campaign: Campaign, *, is_scoped: bool) -> float:
    with transaction() as session:
        session.execute(text("SET LOCAL statement_timeout = 0"))
        began = time.perf_counter()
        if is_scoped:
            scope_to_account(session, account.id)
        work(session, account, campaign)
        return time.perf_counter() - began


def filled(n: int) -> tuple[Account, Campaign]:
    for email in ("other@example.org", "bench@example.org"):
        account = an_account(email)
        campaign = a_campaign(account, a_collection(account), grid_size=24)
        with transaction() as session:
            a_model(session, session.get_one(Campaign, campaign.id))
            values = {"campaign": campaign.id, "collection": campaign.collection_id, "n": N_IMAGES}
            for statement in (*MANY_IMAGES.split(";\n"), MANY_CAMPAIGNS):
                used = {name: value for name, value in values.items() if f":{name}" in statement}
                used |= {"n": N_CAMPAIGNS} if statement is MANY_CAMPAIGNS else {}
                session.execute(text(statement), used)
        with transaction() as session:
            campaign = session.get_one(Campaign, campaign.id)
        add_answers(campaign, n)
    with transaction() as session:
        return account, session.get_one(Campaign, campaign.id)


def measure(servers: Servers, folder: Path, n: int) -> list[str]:
    use_new_database(servers, folder / "data")
    account, campaign = filled(n)
    rows = []
    for name, work in WORKS.items():
        taken: dict[bool, list[float]] = {False: [], True: []}
        for number in range(2 * TIMES + 2):
            is_scoped = bool(number % 2)
            took = seconds(work, account, campaign, is_scoped=is_scoped)
            # The first of each fills caches.
            taken[is_scoped] += [took] if number > 1 else []
        owner, requester = (1000 * median(taken[is_scoped]) for is_scoped in (False, True))
        rows.append(f"| {name} | {owner:,.1f} | {requester:,.1f} | {requester / owner:.2f} |")
        print(rows[-1], flush=True)
    get_engine().dispose()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    n = parser.parse_args().answers
    with own_servers() as (servers, folder):
        rows = measure(servers, folder, n)
    publish(
        "row_security.md",
        f"""# What row-level security costs

Milliseconds, medians of {TIMES} runs of the same services as the owner of the tables and as a
requester ([decision 23](../decisions/0023-a-wall-in-the-database.md)), in turn. Two accounts have
{N_CAMPAIGNS + 1} campaigns each, one of which has {n:,} answers to as many grids and
{N_IMAGES:,} images. The two cores did other work too, so times are long and
can include a few milliseconds of waiting: look at the ratios of long times. The plans are the same,
except for a hash table of the account's campaigns. `python -m bench.row_security`.

| | owner | requester | ratio |
|---|--:|--:|--:|
"""
        + "\n".join(rows)
        + "\n",
    )


if __name__ == "__main__":
    main()

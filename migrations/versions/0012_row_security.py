"""Row-level security between requesters (docs/decisions/0023-a-wall-in-the-database.md).

Policies hold for whoever does not own the tables: requests of requesters take on a role that does
not (app/core/row_security.py). That role is the server's, not the database's; `migrations/env.py`
sees to it after every migration.

Revision ID: 0012
Revises: 0011
"""

from typing import NamedTuple

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Each is called once a statement, not once a row. They read as the owner of the tables, so that no
# policy asks another one in a circle; `shared` are others' campaigns, `edit` those to be worked on.
FUNCTIONS = """
CREATE FUNCTION likewise_account() RETURNS uuid LANGUAGE sql STABLE
RETURN nullif(current_setting('likewise.account_id', true), '')::uuid;

CREATE FUNCTION likewise_admin() RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(current_setting('likewise.admin', true), '') = 'on';

CREATE FUNCTION likewise_shared_campaigns(edit boolean) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 20 BEGIN ATOMIC
    SELECT campaign_id FROM share
    WHERE account_id = likewise_account() AND (access = 'edit' OR NOT edit);
END;

CREATE FUNCTION likewise_campaigns(edit boolean) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 50 BEGIN ATOMIC
    SELECT id FROM campaign WHERE owner_id = likewise_account()
    UNION ALL SELECT likewise_shared_campaigns(edit);
END;

CREATE FUNCTION likewise_models(edit boolean) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 100 BEGIN ATOMIC
    SELECT id FROM model WHERE campaign_id IN (SELECT likewise_campaigns(edit));
END;

CREATE FUNCTION likewise_shared_collections(edit boolean) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 20 BEGIN ATOMIC
    SELECT collection_id FROM campaign WHERE id IN (SELECT likewise_shared_campaigns(edit));
END;

CREATE FUNCTION likewise_own_collections() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 50 BEGIN ATOMIC
    SELECT id FROM collection WHERE owner_id = likewise_account();
END;

CREATE FUNCTION likewise_known_accounts() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 20 BEGIN ATOMIC
    SELECT owner_id FROM campaign WHERE id IN (SELECT likewise_shared_campaigns(false))
    UNION SELECT account_id FROM share WHERE campaign_id IN (SELECT likewise_campaigns(false));
END;

CREATE FUNCTION likewise_paying_accounts() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 20 BEGIN ATOMIC
    SELECT channel_account_id FROM recruitment
    WHERE campaign_id IN (SELECT likewise_campaigns(false)) AND channel_account_id IS NOT NULL;
END;
"""
# In the order of their making.
NAMES = (
    "likewise_account()",
    "likewise_admin()",
    "likewise_shared_campaigns(boolean)",
    "likewise_campaigns(boolean)",
    "likewise_models(boolean)",
    "likewise_shared_collections(boolean)",
    "likewise_own_collections()",
    "likewise_known_accounts()",
    "likewise_paying_accounts()",
)

ME = "(SELECT likewise_account())"
ADMIN = "(SELECT likewise_admin())"
NEVER = "false"
OWN_COLLECTION = "collection_id IN (SELECT likewise_own_collections())"

# What may be seen, and what changed (added, changed, removed); `{change}` becomes true or false.
OF_A_CAMPAIGN = "campaign_id IN (SELECT likewise_campaigns({change}))"
BY_CAMPAIGN = (
    "round",
    "grid",
    "annotator",
    "annotator_identity",
    "assignment",
    "answer",
    "remark",
    "job",
    "dry_run",
    "model",
    "recruitment",
    "payment",
)
# Of 10^5 images each: asked for by a set, which is cheap in the planner's eyes, too.
BY_MODEL = ("embedding", "clustering")
OF_A_MODEL = "model_id IN (SELECT likewise_models({change}))"
# Tables whose rows belong to a row of another: its column and that table.
BY_PARENT = {
    "posting": ("recruitment_id", "recruitment"),
    "submission": ("recruitment_id", "recruitment"),
    "channel_call": ("recruitment_id", "recruitment"),
    "invitation": ("recruitment_id", "recruitment"),
}
# For one account alone.
MINE = ("api_token", "kept_reply")


class Policies(NamedTuple):
    """Rows of a table that may be seen, added, changed and removed, and what they may become by a
    change where that is not the same."""

    seen: str
    added: str
    changed: str
    removed: str
    becoming: str = ""


def _policies() -> dict[str, Policies]:
    found: dict[str, Policies] = {}
    for tables, of in ((BY_CAMPAIGN, OF_A_CAMPAIGN), (BY_MODEL, OF_A_MODEL)):
        seen, change = (of.format(change=one) for one in ("false", "true"))
        found |= {table: Policies(seen, change, change, change) for table in tables}
    for table, (column, parent) in BY_PARENT.items():
        # The parent's own policy says whether it may be seen.
        seen = f"SELECT FROM {parent} WHERE {parent}.id = {table}.{column}"
        change = f"EXISTS ({seen} AND {parent}.{OF_A_CAMPAIGN.format(change='true')})"
        found[table] = Policies(f"EXISTS ({seen})", change, change, change)
    for table in MINE:
        found[table] = Policies(*[f"account_id = {ME}"] * 4)
    return {**found, **_of_accounts(), **_of_campaigns(), **_of_collections(), **_of_others()}


def _of_accounts() -> dict[str, Policies]:
    me_or_admin = f"account_id = {ME} OR {ADMIN}"
    own = f"id = {ME} OR {ADMIN}"
    known = f"{own} OR id IN (SELECT likewise_known_accounts())"
    return {
        "account": Policies(known, ADMIN, own, NEVER),
        "sign_in_link": Policies(me_or_admin, ADMIN, NEVER, NEVER),
        "browser_session": Policies(me_or_admin, NEVER, me_or_admin, me_or_admin),
        "audit_event": Policies(me_or_admin, me_or_admin, NEVER, NEVER),
    }


def _of_campaigns() -> dict[str, Policies]:
    # Of one just inserted the functions do not know yet.
    campaign = f"owner_id = {ME} OR id IN (SELECT likewise_shared_campaigns({{change}}))"
    seen, changed = (campaign.format(change=one) for one in ("false", "true"))
    # Whoever points a campaign to a collection sees its images.
    own = f"owner_id = {ME} AND {OWN_COLLECTION}"
    kept = f"{own} OR id IN (SELECT likewise_shared_campaigns(true)) AND collection_id IN " + (
        "(SELECT likewise_shared_collections(true))"
    )
    by_owner = f"EXISTS (SELECT FROM campaign WHERE campaign.id = campaign_id AND owner_id = {ME})"
    return {
        "campaign": Policies(seen, own, changed, changed, becoming=kept),
        "share": Policies(OF_A_CAMPAIGN.format(change="false"), by_owner, by_owner, by_owner),
    }


def _of_collections() -> dict[str, Policies]:
    own = f"owner_id = {ME}"
    shared = f"{own} OR id IN (SELECT likewise_shared_collections({{change}}))"
    seen = f"{OWN_COLLECTION} OR collection_id IN (SELECT likewise_shared_collections(false))"
    of_import = "SELECT FROM collection_import WHERE collection_import.id = import_id"
    problem = f"EXISTS ({of_import})"
    changed = f"EXISTS ({of_import} AND {OWN_COLLECTION})"
    return {
        # Changed by others, too: who starts a shared campaign locks its collection.
        "collection": Policies(
            shared.format(change="false"), own, shared.format(change="true"), own
        ),
        "image": Policies(seen, OWN_COLLECTION, OWN_COLLECTION, OWN_COLLECTION),
        "collection_import": Policies(seen, OWN_COLLECTION, OWN_COLLECTION, OWN_COLLECTION),
        "import_problem": Policies(problem, changed, changed, changed),
    }


def _of_others() -> dict[str, Policies]:
    mine = f"account_id = {ME}"
    about = "(campaign_id IS NULL OR campaign_id IN (SELECT likewise_campaigns(false)))"
    webhook = "EXISTS (SELECT FROM webhook WHERE webhook.id = webhook_id)"
    channel = f"EXISTS (SELECT FROM channel_account a WHERE a.id = channel_account_id AND a.{mine})"
    paying = f"{mine} OR id IN (SELECT likewise_paying_accounts())"
    return {
        "webhook": Policies(mine, f"{mine} AND {about}", mine, mine),
        "webhook_delivery": Policies(*[webhook] * 4),
        "channel_account": Policies(paying, mine, mine, mine),
        "channel_event": Policies(*[channel] * 4),
    }


def upgrade() -> None:
    op.execute(FUNCTIONS)
    for table, of in _policies().items():
        becoming = of.becoming or of.changed
        op.execute(f"CREATE POLICY seen ON {table} FOR SELECT USING ({of.seen})")
        op.execute(f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({of.added})")
        op.execute(
            f"CREATE POLICY changed ON {table} FOR UPDATE "
            f"USING ({of.changed}) WITH CHECK ({becoming})"
        )
        op.execute(f"CREATE POLICY removed ON {table} FOR DELETE USING ({of.removed})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def downgrade() -> None:
    """The role stays: other databases of the server may use it."""
    for table in _policies():
        for policy in ("seen", "added", "changed", "removed"):
            op.execute(f"DROP POLICY {policy} ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    op.execute(
        """
        DO $$ BEGIN
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'likewise_requester') THEN
                EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM likewise_requester',
                               current_schema());
                EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA %I FROM likewise_requester',
                               current_schema());
                EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM likewise_requester',
                               current_schema());
                EXECUTE format('REVOKE ALL ON SCHEMA %I FROM likewise_requester',
                               current_schema());
            END IF;
        END $$
        """
    )
    for name in reversed(NAMES):
        op.execute(f"DROP FUNCTION {name}")

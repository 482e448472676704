"""Read-only links to a campaign's results (docs/decisions/0046).

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

BY_OWNER = (
    "EXISTS (SELECT FROM campaign WHERE campaign.id = campaign_id "
    "AND owner_id = (SELECT likewise_account()))"
)
# The account of a visitor's request is the link. These look up what it shows, once a statement, as
# the owner of the tables, and show nothing once it is withdrawn or has expired.
FUNCTIONS = """
CREATE FUNCTION likewise_visited_campaigns() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 1 BEGIN ATOMIC
    SELECT campaign_id FROM read_only_link
    WHERE id = likewise_account() AND withdrawn_at IS NULL
    AND (expires_at IS NULL OR expires_at > now());
END;

CREATE FUNCTION likewise_visited_collections() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 1 BEGIN ATOMIC
    SELECT collection_id FROM campaign WHERE id IN (SELECT likewise_visited_campaigns());
END;

CREATE FUNCTION likewise_visited_models() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 20 BEGIN ATOMIC
    SELECT id FROM model WHERE campaign_id IN (SELECT likewise_visited_campaigns());
END;
"""
NAMES = (
    "likewise_visited_campaigns()",
    "likewise_visited_collections()",
    "likewise_visited_models()",
)
# Tables that results are read from, and the column that says whose a row is. Identities, remarks,
# questionnaires, payments, recruitments, shares and accounts stay invisible.
CAMPAIGNS, COLLECTIONS, MODELS = (f"(SELECT {name})" for name in NAMES)
VISITED = {
    "campaign": f"id IN {CAMPAIGNS}",
    "collection": f"id IN {COLLECTIONS}",
    "image": f"collection_id IN {COLLECTIONS}",
    "feature_set": f"collection_id IN {COLLECTIONS}",
    "feature_shard": (
        f"EXISTS (SELECT FROM feature_set s WHERE s.id = set_id "
        f"AND s.collection_id IN {COLLECTIONS})"
    ),
    **dict.fromkeys(
        ("asked_image", "round", "grid", "annotator", "assignment", "answer", "job", "model",
         "feature_alignment"),
        f"campaign_id IN {CAMPAIGNS}",
    ),
    **dict.fromkeys(("embedding", "clustering"), f"model_id IN {MODELS}"),
}  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "read_only_link",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column(
            "campaign_id",
            sa.Uuid(),
            sa.ForeignKey("campaign.id", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        *(
            sa.Column(name, sa.DateTime(timezone=True))
            for name in ("expires_at", "last_used_at", "withdrawn_at")
        ),
        sa.UniqueConstraint("token_hash"),
    )
    own = "id = (SELECT likewise_account())"
    op.execute(f"CREATE POLICY seen ON read_only_link FOR SELECT USING ({BY_OWNER} OR {own})")
    op.execute(f"CREATE POLICY added ON read_only_link FOR INSERT WITH CHECK ({BY_OWNER})")
    op.execute(f"CREATE POLICY changed ON read_only_link FOR UPDATE USING ({BY_OWNER})")
    op.execute(f"CREATE POLICY removed ON read_only_link FOR DELETE USING ({BY_OWNER})")
    op.execute("ALTER TABLE read_only_link ENABLE ROW LEVEL SECURITY")
    op.execute(FUNCTIONS)
    for table, condition in VISITED.items():
        op.execute(f"CREATE POLICY visited ON {table} FOR SELECT USING ({condition})")


def downgrade() -> None:
    """All links stop working."""
    for table in VISITED:
        op.execute(f"DROP POLICY visited ON {table}")
    for name in reversed(NAMES):
        op.execute(f"DROP FUNCTION {name}")
    op.drop_table("read_only_link")

"""Every agreement to a consent text is kept with the text as it was.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

CAMPAIGNS = "SELECT likewise_campaigns({change})"
OF_A_TEXT = (
    "consent_text_id IN (SELECT id FROM consent_text "
    "WHERE campaign_id IN (SELECT likewise_campaigns({change})))"
)
# The wall between requesters (0012): rows that may be seen, and those that may be changed.
WALL = {"consent_text": f"campaign_id IN ({CAMPAIGNS})", "consent_agreement": OF_A_TEXT}
TEXT = "annotation ->> 'consent'"
KEY = f"encode(sha256(convert_to({TEXT}, 'UTF8')), 'hex')"


def upgrade() -> None:
    _create_tables()
    op.add_column("annotator", sa.Column("consented_to", sa.String(64)))
    # Whether a text was changed after somebody agreed is not known: they agreed to what it is now.
    agreed = "annotator.consented_at IS NOT NULL"
    op.execute(
        f"""
        INSERT INTO consent_text (id, campaign_id, version, sha256, text)
        SELECT gen_random_uuid(), id, 1, {KEY}, {TEXT} FROM campaign
        WHERE coalesce({TEXT}, '') <> '' AND EXISTS (
            SELECT FROM annotator WHERE campaign_id = campaign.id AND {agreed})
        """
    )
    op.execute(
        f"""
        INSERT INTO consent_agreement (annotator_id, consent_text_id, agreed_at)
        SELECT annotator.id, consent_text.id, annotator.consented_at
        FROM annotator JOIN consent_text USING (campaign_id) WHERE {agreed}
        """
    )
    op.execute(
        f"""
        UPDATE annotator SET consented_to = consent_text.sha256 FROM consent_text
        WHERE consent_text.campaign_id = annotator.campaign_id AND {agreed}
        """
    )
    for table, condition in WALL.items():
        seen, change = (condition.format(change=which) for which in ("false", "true"))
        op.execute(f"CREATE POLICY seen ON {table} FOR SELECT USING ({seen})")
        op.execute(f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({change})")
        op.execute(f"CREATE POLICY changed ON {table} FOR UPDATE USING ({change})")
        op.execute(f"CREATE POLICY removed ON {table} FOR DELETE USING ({change})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def _create_tables() -> None:
    op.create_table(
        "consent_text",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("created_at", server_default=sa.func.now(), nullable=False),
        sa.Column(
            "campaign_id",
            sa.Uuid(),
            sa.ForeignKey("campaign.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.UniqueConstraint("campaign_id", "version"),
        sa.UniqueConstraint("campaign_id", "sha256"),
    )
    op.create_table(
        "consent_agreement",
        sa.Column(
            "annotator_id",
            sa.Uuid(),
            sa.ForeignKey("annotator.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "consent_text_id",
            sa.Uuid(),
            sa.ForeignKey("consent_text.id", ondelete="CASCADE"),
            primary_key=True,
            index=True,
        ),
        _time("agreed_at", nullable=False),
    )


def _time(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)  # type: ignore[arg-type]


def downgrade() -> None:
    op.drop_column("annotator", "consented_to")
    op.drop_table("consent_agreement")
    op.drop_table("consent_text")

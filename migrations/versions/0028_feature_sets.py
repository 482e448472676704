"""Named feature sets of collections.

The columns feature_0, … of a collection's table become its set `features`. Their numbers stay with
the images, where the release before reads and writes them.

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY
from uuid_utils.compat import uuid7

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

# Features that settings of the release before can name.
KNOWN_BEFORE = ("nothing", "appearance", "components", "pixels", "grey", "features", "custom")
OWN = "collection_id IN (SELECT likewise_own_collections())"
SHARED = "collection_id IN (SELECT likewise_shared_collections(false))"
OF_SET = "EXISTS (SELECT FROM feature_set WHERE feature_set.id = set_id{and_own})"
# Row-level security (0012): rows that may be seen, and those that may be changed.
POLICIES = {
    "feature_set": (f"{OWN} OR {SHARED}", OWN),
    "feature_shard": (OF_SET.format(and_own=""), OF_SET.format(and_own=f" AND {OWN}")),
}


def upgrade() -> None:
    _create_tables()
    for table, (seen, change) in POLICIES.items():
        op.execute(f"CREATE POLICY seen ON {table} FOR SELECT USING ({seen})")
        op.execute(f"CREATE POLICY added ON {table} FOR INSERT WITH CHECK ({change})")
        op.execute(f"CREATE POLICY changed ON {table} FOR UPDATE USING ({change})")
        op.execute(f"CREATE POLICY removed ON {table} FOR DELETE USING ({change})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    _list_tables()


def _create_tables() -> None:
    op.create_table(
        "feature_set",
        sa.Column("id", sa.Uuid(), primary_key=True),
        _time("created_at", server_default=sa.func.now(), nullable=False),
        sa.Column(
            "collection_id",
            sa.Uuid(),
            sa.ForeignKey("collection.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("version", sa.String(16), nullable=False),
        sa.Column("file", sa.String(500), nullable=False),
        sa.Column("n_features", sa.Integer()),
        *(_count(name) for name in ("n_known", "n_constant", "n_done")),
        sa.Column("state", sa.String(20), nullable=False),
        *(_count(name) for name in ("attempts", "epoch")),
        _time("lease_until"),
        sa.Column("error", sa.Text()),
        _time("started_at"),
        _time("finished_at"),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_feature_set_state")
        ),
    )
    op.create_index(
        "uq_feature_set_name",
        "feature_set",
        ["collection_id", sa.text("lower(name)")],
        unique=True,
    )
    op.create_index(
        "ix_feature_set_active_state",
        "feature_set",
        ["state"],
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "feature_shard",
        sa.Column(
            "set_id",
            sa.Uuid(),
            sa.ForeignKey("feature_set.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("images", ARRAY(sa.String(64)), nullable=False),
    )


def _list_tables() -> None:
    """Add the set of every collection whose images have features of its table."""
    rows = op.get_bind().execute(
        sa.text(
            "SELECT collection_id, count(*) AS n, max(cardinality(features)) AS n_features "
            "FROM image WHERE cardinality(features) > 0 GROUP BY collection_id"
        )
    )
    insert = sa.text(
        "INSERT INTO feature_set (id, collection_id, name, kind, version, file, n_features, "
        "n_known, n_constant, n_done, state, attempts, epoch) VALUES (:id, :collection, "
        "'features', 'table', '', '', :n_features, :n, 0, :n, 'done', 0, 0)"
    ).bindparams(sa.bindparam("id", type_=sa.Uuid()), sa.bindparam("collection", type_=sa.Uuid()))
    for collection_id, n, n_features in rows.all():
        op.get_bind().execute(
            insert, {"id": uuid7(), "collection": collection_id, "n": n, "n_features": n_features}
        )


def downgrade() -> None:
    """Uploaded and computed sets are lost: the release before has no place for them. The features
    of tables stay with their images, and the objects in storage until their collection is
    deleted."""
    # The release before refuses settings that it does not know.
    op.execute("UPDATE campaign SET settings = settings - 'features' WHERE strategy = 'cen'")
    for setting, instead in (("features", "appearance"), ("start_from", "nothing")):
        op.execute(
            sa.text(
                "UPDATE campaign SET settings = jsonb_set(settings, ARRAY[:setting], "
                "to_jsonb(CAST(:instead AS text))) "
                "WHERE settings ->> :setting <> ALL(CAST(:known AS text[]))"
            ).bindparams(setting=setting, instead=instead, known=list(KNOWN_BEFORE))
        )
    op.drop_table("feature_shard")
    op.drop_table("feature_set")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default="0", nullable=False)


def _time(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), **options)  # type: ignore[arg-type]

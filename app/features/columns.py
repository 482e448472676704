"""The names of an uploaded set's columns, in an object of their own next to its vectors."""

import json

from app.core.storage import get_object
from app.features.models import UPLOADED, FeatureSet
from app.features.shards import prefix_of


def columns_key(feature_set: FeatureSet) -> str:
    return f"{prefix_of(feature_set.collection_id, feature_set.id)}/columns.json"


def as_json(columns: list[str]) -> bytes:
    return json.dumps(columns, ensure_ascii=False).encode()


def columns_of(feature_set: FeatureSet) -> list[str]:
    """Return a name for each column: those of the file, or NAME_0, NAME_1, …"""
    n = feature_set.n_features or 0
    if feature_set.kind == UPLOADED:
        try:
            columns = json.loads(get_object(columns_key(feature_set)))
        except FileNotFoundError:
            columns = []
        if len(columns) == n:
            return [str(column) for column in columns]
    return [f"{feature_set.name}_{number}" for number in range(n)]

"""A small campaign of every kind of task."""

from typing import Any

from testbed.builders import COLOURS

_VOTES = {"strategy": "neucrowd", "settings": {"features": "features"}}
# What a plan of each kind says beyond a campaign's own.
PLANS: dict[str, dict[str, Any]] = {
    "grid": {"grid_size": 6},
    "bins": {"grid_size": 6},
    "odd_one_out": {"grid_size": 3},
    "nearer": {"grid_size": 3},
    "select": {"grid_size": 6, **_VOTES},
    "classify": {"grid_size": 6, "classes": list(COLOURS), **_VOTES},
    "labels": {"grid_size": 6, "classes": ["even", "large"], **_VOTES},
}

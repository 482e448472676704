"""Arithmetic of fees. Fractions of a cent are rounded up, so that they can never exceed a limit."""

from decimal import ROUND_CEILING, Decimal


def share(cents: int, percent: int | Decimal) -> int:
    """Return a percentage of an amount, in whole cents."""
    return int((Decimal(cents) * percent / 100).to_integral_value(ROUND_CEILING))

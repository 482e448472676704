"""How much the longest tests do: as much as it takes to mean something, or all that is promised."""

import os

# Set by `make acceptance`.
FULL = os.environ.get("LIKEWISE_FULL_TESTS") == "1"

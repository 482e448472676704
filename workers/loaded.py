"""What trainings need, loaded by the server from which they are forked, and not used there."""

import gc

from learning import cen, crowdster
from workers import trainer

__all__ = ["cen", "crowdster", "trainer"]

# Forked processes then share this memory: a collection would write to every object of it.
gc.collect()
gc.freeze()

"""The queues of Celery, and the queue that a training goes to.

A worker serves one or several of them (`likewise worker --queue …`): trainings, trainings on
machines with a GPU, and imports with clean-up and dry runs.
"""

from app.core.settings import get_settings
from app.strategies import get_strategy

LEARNING, LEARNING_GPU, FILES = "learning", "learning-gpu", "files"
QUEUES = (LEARNING, LEARNING_GPU, FILES)


def gpu_strategies() -> frozenset[str]:
    """Return the strategies whose trainings go to workers with a GPU
    (`LIKEWISE_GPU_STRATEGIES`). Raises InvalidInput for a name that is not a strategy."""
    names = get_settings().gpu_strategies.replace(",", " ").split()
    return frozenset(get_strategy(name).name for name in names)


def queue_of_training(strategy: str) -> str:
    """Return the queue for trainings of a strategy."""
    return LEARNING_GPU if strategy in gpu_strategies() else LEARNING

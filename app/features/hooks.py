"""What feature sets ask the rooms above them (see `app.core.hooks`)."""

from sqlalchemy.orm import Session

from app.collections.dependents import Usage
from app.collections.models import Collection
from app.core.hooks import Hook

# Running and paused campaigns over a collection that learn from the features with this name,
# newest first.
learners: Hook[[Session, Collection, str], list[Usage]] = Hook("features.learners")

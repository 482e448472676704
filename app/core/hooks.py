"""Calls from a room to the rooms above it, within the caller's transaction.

A room of `app/` imports only rooms below it. Where it must tell those above something, or ask them
something, it defines a hook (its `hooks.py`); a room above answers it. What an answer raises
reaches the caller, and is rolled back with the caller's work.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """One call upwards. Exactly one room answers it; `app.tables` imports all that do."""

    defined: ClassVar[list["Hook[..., Any]"]] = []

    def __init__(self, name: str) -> None:
        self.name = name
        self._answer: Callable[P, R] | None = None
        self.defined.append(self)

    @property
    def is_answered(self) -> bool:
        return self._answer is not None

    def answered_by(self, answer: Callable[P, R]) -> Callable[P, R]:
        """Decorate the function that answers. Raises RuntimeError for a second one."""
        if self._answer is not None and self._answer is not answer:
            raise RuntimeError(f"The hook {self.name} is answered twice.")
        self._answer = answer
        return answer

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the room above says. Raises RuntimeError where its module was not imported."""
        if self._answer is None:
            raise RuntimeError(f"Nobody answers the hook {self.name}. Import app.tables first.")
        return self._answer(*args, **kwargs)

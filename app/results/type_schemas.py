"""Bodies of the API of types and groups of annotators."""

from collections.abc import Mapping

from pydantic import BaseModel, Field

from app.collections.models import Image
from app.results.annotator_types import By, ComparedGroups, Division
from app.results.explore_schemas import ComparisonOut
from app.results.question_schemas import AnswerDifferencesOut
from app.strategies.annotator_types import StoredTypes


class GroupOut(BaseModel):
    name: str
    people: int


class DivisionOut(BaseModel):
    """A way to divide annotators: `by` their type, link, or answer to the question `key`."""

    by: By
    key: str
    title: str
    groups: list[GroupOut]

    @classmethod
    def of(cls, division: Division) -> "DivisionOut":
        return cls(
            by=division.by,
            key=division.key,
            title=division.title,
            groups=[
                GroupOut(name=group.name, people=len(group.people)) for group in division.groups
            ],
        )


class AnnotatorTypesOut(BaseModel):
    """Types of annotators. `n_types` is null if the model has not looked for types: there were too
    few people with three answers or more, answers are votes, or it is a model of an earlier
    version. `sizes`: people of each type, the largest first; `unclear`: people with too few or
    undecided answers."""

    n_types: int | None
    p: float | None = Field(description="P-value of: all people see the images in one way.")
    sizes: list[int]
    unclear: int
    n_answers: int
    divisions: list[DivisionOut]

    @classmethod
    def of(cls, types: StoredTypes | None, divisions: list[Division]) -> "AnnotatorTypesOut":
        shown = [DivisionOut.of(division) for division in divisions]
        if types is None:
            return cls(n_types=None, p=None, sizes=[], unclear=0, n_answers=0, divisions=shown)
        answered = types.n_answers > 0
        return cls(
            n_types=types.n_types,
            p=types.p,
            sizes=[int((types.type == number).sum()) for number in range(types.n_types)],
            unclear=int((answered & (types.type < 0)).sum()),
            n_answers=int(types.n_answers.sum()),
            divisions=shown,
        )


class GroupComparisonOut(BaseModel):
    """Two groups of annotators: their maps, and the pairs of images about which they differ. `p`:
    permutation test of whether they see the images differently; null for types, which were derived
    from these answers, and with fewer than three people in a group."""

    people: int
    other_people: int
    p: float | None
    comparison: ComparisonOut
    differences: AnswerDifferencesOut

    @classmethod
    def of(cls, compared: ComparedGroups, images: Mapping[int, Image]) -> "GroupComparisonOut":
        return cls(
            people=compared.people,
            other_people=compared.other_people,
            p=compared.p,
            comparison=ComparisonOut.of(compared.compared),
            differences=AnswerDifferencesOut.of(compared.differences, images),
        )

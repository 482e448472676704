"""The catalogue of all exports. A new export is one more entry here.

docs/exports.md describes each of them; tests/app/test_export_documents.py compares the two.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.core.copying import in_pieces
from app.core.errors import NotFound
from app.kinds import AnswerForm, kind_of
from app.recruitment import exports as payments
from app.results import (
    clusterings,
    comparisons,
    consents,
    exports,
    hooks,
    label_files,
    membership_files,
    model_files,
    question_files,
    questionnaires,
    vote_files,
)
from app.results.models import Model
from app.results.service import get_model

# This number is raised when columns or arrays of a file change their meaning or disappear. New ones
# are added at the end and do not raise it.
EXPORT_VERSION = 2
MEDIA = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "txt": "text/plain",
    "tsv": "text/tab-separated-values",
    "npz": "application/octet-stream",
    "parquet": "application/vnd.apache.parquet",
    "zip": "application/zip",
}
# Files that gzip would only make slower.
PACKED = tuple(MEDIA[kind] for kind in ("npz", "parquet", "zip"))

OfModel = Callable[[Session, Campaign, Model], Iterator[str] | Iterator[bytes] | bytes]


@dataclass(frozen=True)
class Options:
    """Options of a request: `per_answer` limits the triplets of each answer, and `identities` asks
    for what identifies people instead of pseudonyms."""

    per_answer: int = comparisons.PER_ANSWER
    identities: bool = False


OfAnswers = Callable[[Session, Campaign, Options], Iterator[bytes]]


@dataclass(frozen=True)
class Export:
    """An export. `about` says in a sentence what it contains and for whom. `identities`: whether
    it can say who people are if asked to.

    of_answers: streamed from any number of answers; of_model: generated from one model. row: what
    each row stands for, if their number is known without counting; form: the only form of answers
    for which it makes sense, if there is one.
    """

    name: str
    title: str
    about: str
    of_answers: OfAnswers | None = None
    of_model: OfModel | None = None
    needs: Literal["answers", "model", "insight", "memberships", "labels"] = "answers"
    group: Literal["answers", "payments", "model", "everything"] = "answers"
    row: Literal["answer", "answered image", "image"] | None = None
    form: AnswerForm | None = None
    identities: bool = False

    @property
    def kind(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def media_type(self) -> str:
        return MEDIA[self.kind]

    def rows(self, campaign: Campaign) -> int | None:
        # Imported answers may belong to grids of any size.
        n_images = None if campaign.n_imported else campaign.n_finished * campaign.grid_size
        return {
            "answer": campaign.n_finished,
            "answered image": n_images,
            "image": campaign.n_images,
            None: None,
        }[self.row]


def _answers(
    name: str,
    make: Callable[[Session, Campaign], Iterator[bytes]],
    title: str,
    about: str,
    row: Literal["answer", "answered image"] | None = None,
) -> Export:
    def of_answers(session: Session, campaign: Campaign, _: Options) -> Iterator[bytes]:
        return make(session, campaign)

    return Export(name, title, about, of_answers=of_answers, row=row)


def _votes(
    name: str, make: Callable[[Session, Campaign], Iterator[bytes]], title: str, about: str
) -> Export:
    def of_answers(session: Session, campaign: Campaign, _: Options) -> Iterator[bytes]:
        return make(session, campaign)

    return Export(name, title, about, of_answers=of_answers, form="votes")


def _payments(
    name: str, make: Callable[[Session, Campaign], Iterator[bytes]], title: str, about: str
) -> Export:
    def of_payments(session: Session, campaign: Campaign, _: Options) -> Iterator[bytes]:
        return make(session, campaign)

    return Export(name, title, about, of_answers=of_payments, group="payments")


def _model(
    name: str, make: OfModel, title: str, about: str, row: Literal["image"] | None = None
) -> Export:
    return Export(name, title, about, of_model=make, needs="model", group="model", row=row)


def _insight(name: str, make: OfModel, title: str, about: str) -> Export:
    return Export(name, title, about, of_model=make, needs="insight", group="model")


def _labels(
    name: str, make: OfModel, title: str, about: str, row: Literal["image"] | None = None
) -> Export:
    needs: Literal["labels"] = "labels"
    return Export(name, title, about, of_model=make, needs=needs, group="model", row=row)


def _memberships(
    name: str, make: OfModel, title: str, about: str, row: Literal["image"] | None = None
) -> Export:
    needs: Literal["memberships"] = "memberships"
    return Export(name, title, about, of_model=make, needs=needs, group="model", row=row)


EXPORTS = [
    _answers(
        "answers.csv", exports.answers_csv, "Answers, image by image",
        "One line per image of every answer, for spreadsheets, R and pandas.", row="answered image",
    ),
    _answers(
        "answers.jsonl", exports.answers_jsonl, "Answers, one by one",
        "One JSON object per answer, with lists of images, groups and descriptions.", row="answer",
    ),
    _answers(
        "answers.parquet", exports.answers_parquet, "Answers as a typed table",
        "The same data with types and lists: the smallest file and the fastest to load.",
        row="answer",
    ),
    Export(
        "pairs.csv", "Pairs",
        "Which pairs of images an annotator put together, and which apart.",
        of_answers=lambda session, campaign, _: comparisons.pairs_csv(session, campaign),
        form="groupings",
    ),
    Export(
        "triplets.csv", "Triplets",
        "Comparisons (anchor, near, far) in the list-order of cblearn, up to 100 per answer.",
        of_answers=lambda session, campaign, options: comparisons.triplets_csv(
            session, campaign, options.per_answer
        ),
        form="groupings",
    ),
    Export(
        "trainset.txt", "Odd ones out",
        "Three images per line, of which the third is the odd one out, as in the THINGS data.",
        of_answers=lambda session, campaign, options: comparisons.trainset_txt(
            session, campaign, options.per_answer
        ),
        form="groupings",
    ),
    _answers(
        "traces.jsonl", exports.traces_jsonl, "Event traces",
        "Every action with its time in every answer, including quality checks.",
    ),
    _answers(
        "quality.csv", exports.quality_csv, "Quality of annotators",
        "One line per annotator: agreement, verdict and the action taken.",
    ),
    _answers(
        "consent.csv", consents.consent_csv, "Consent",
        "Who agreed to which version of the consent text, and when.",
    ),
    _answers(
        "consent_texts.jsonl", consents.consent_texts_jsonl, "Consent texts",
        "Every version of the consent text to which somebody agreed, as it was.",
    ),
    Export(
        "link_parameters.csv", "Parameters of links",
        "What the addresses of links said of annotators, such as panel IDs, as pseudonyms.",
        of_answers=lambda session, campaign, options: payments.link_parameters_csv(
            session, campaign, identities=options.identities
        ),
        identities=True,
    ),
    _answers(
        "questionnaire.csv", questionnaires.questionnaire_csv, "Questionnaire",
        "One line per annotator: versions answered, and a column for each question.",
    ),
    _answers(
        "questionnaires.jsonl", questionnaires.questionnaires_jsonl, "Questionnaires",
        "Every version of the questions that somebody answered, as they were.",
    ),
    _answers(
        "answer_differences.csv", question_files.answer_differences_csv, "Differences by answer",
        "Pairs of images that people with one answer put together more or less often than others.",
    ),
    _payments(
        "payments.csv", payments.payments_csv, "Payments",
        "The ledger for spreadsheets: one line per payment with fee, state and reason.",
    ),
    _payments(
        "payments.jsonl", payments.payments_jsonl, "Payments, one by one",
        "The same data, with one JSON object per payment.",
    ),
    _model(
        "embedding.csv", model_files.embedding_csv, "Embedding",
        "One line per image with its coordinates.", row="image",
    ),
    _model(
        "embedding.npz", model_files.embedding_npz, "Embedding as arrays",
        "Coordinates, file names and hashes as NumPy arrays.", row="image",
    ),
    _model(
        "embedding.parquet", model_files.embedding_parquet, "Embedding with attributes",
        "Coordinates with all attributes of the images, as a typed table.", row="image",
    ),
    _model(
        "vectors.tsv", model_files.vectors_tsv, "Projector: vectors",
        "Coordinates for the TensorFlow embedding projector.", row="image",
    ),
    _model(
        "metadata.tsv", model_files.metadata_tsv, "Projector: metadata",
        "Names and attributes: the second file for the projector.", row="image",
    ),
    _model(
        "neighbours.csv", model_files.neighbours_csv, "Nearest neighbours",
        "The ten nearest neighbours of each image, with distances.",
    ),
    Export(
        "clusters.csv", "Clusters",
        "The newest clustering of the model: cluster and silhouette of each image.",
        of_model=clusterings.newest_clusters_csv, needs="model", group="model", row="image",
        form="groupings",
    ),
    _memberships(
        "memberships.csv", membership_files.memberships_csv, "Memberships",
        "The model's own clusters: each image's cluster, its probability, and the runner-up.",
        row="image",
    ),
    _memberships(
        "reliability.csv", membership_files.reliability_csv, "Reliability of annotators",
        "How often each annotator puts images of one cluster together, and others apart.",
    ),
    _labels(
        "labels.csv", label_files.labels_csv, "Labels",
        "The label of every image and its probability, its votes, and the label from votes alone.",
        "image",
    ),
    _labels(
        "voters.csv", label_files.voters_csv, "Quality of votes",
        "How often each annotator's votes are right, for each answer that they can give.",
    ),
    _model(
        "dissimilarities.npz", model_files.dissimilarities_npz, "Dissimilarities",
        "All distances in the format of rsatoolbox, for up to 5,000 images.",
    ),
    Export(
        "type_dissimilarities.npz", "Dissimilarities by type",
        "The distances as each type of annotators sees them, in the format of rsatoolbox.",
        of_model=model_files.type_dissimilarities_npz, needs="model", group="model",
        form="groupings",
    ),
    _insight(
        "attributes.csv", model_files.attributes_csv, "Attributes",
        "The attributes people group by: their share of the answers and the words for both sides.",
    ),
    _insight(
        "annotators.csv", model_files.annotators_csv, "Annotators",
        "What each annotator groups by, how finely and how consistently.",
    ),
    _model(
        "model.zip", model_files.model_zip, "Model files",
        "The trained model (safetensors and JSON), to load in Python.",
    ),
    Export(
        "archive.zip", "Archive",
        "The whole campaign in one file: images, answers, models and settings. Another server can "
        "import it. It contains no annotator's identity.",
        of_answers=lambda session, campaign, _: hooks.archive(session, campaign.id),
        group="everything",
    ),
    _votes(
        "votes.csv", vote_files.votes_csv, "Votes, by name",
        "The last vote of each annotator on each image, in words.",
    ),
]  # fmt: skip
BY_NAME = {export.name: export for export in EXPORTS}


def exports_of(campaign: Campaign) -> list[Export]:
    """Return the exports that make sense for the campaign's answers."""
    form = kind_of(campaign).form
    return [export for export in EXPORTS if export.form in (None, form)]


def get_export(name: str) -> Export:
    """Return the export of that name; raises NotFound."""
    if name not in BY_NAME:
        raise NotFound(f"There is no export {name!r}. Choose one of: {', '.join(BY_NAME)}.")
    return BY_NAME[name]


def make(
    session: Session, campaign: Campaign, export: Export, version: int | None, options: Options
) -> Iterator[bytes]:
    """Return the bytes of an export, of the newest model by default.

    Errors (NotFound, InvalidInput) are raised immediately, before the first bytes. For exports of
    answers, `session` must stay open until the last bytes.
    """
    if export.of_answers is not None:
        return in_pieces(export.of_answers(session, campaign, options))
    assert export.of_model is not None
    content = export.of_model(session, campaign, get_model(session, campaign, version))
    whole = content if isinstance(content, bytes) else b"".join(map(_encoded, content))
    return iter([whole])


def _encoded(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode()

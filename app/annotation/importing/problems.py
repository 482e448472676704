"""Problems with a file of answers, collected so that all of them can be fixed at once."""

from app.core.errors import InvalidInput

SHOWN = 10
# A file with more mistakes than this is the wrong file; reading stops there.
MOST_PROBLEMS = 10_000


class BadAnswerFile(InvalidInput):
    """The file can't be imported. The message names lines and images, and nothing was stored."""

    code = "bad_answer_file"


class BadLine(Exception):
    """A line can't be used. The message is a sentence without the line's number."""


class Problems:
    """Lines that can't be used, and images that the campaign does not have.

    searched: where the images were searched, worded for a message.
    """

    def __init__(self, searched: str) -> None:
        self.searched = searched
        self._lines: list[tuple[int, str]] = []
        # The first line that names each unknown image.
        self._images: dict[str, int] = {}

    def add_line(self, number: int, sentence: str) -> None:
        """Add a problem with a line. Raises BadAnswerFile if there are too many to continue."""
        self._lines.append((number, sentence))
        self._check_room()

    def add_images(self, number: int, names: list[str]) -> None:
        """Add images of a line that the campaign does not have. Raises BadAnswerFile if there are
        too many problems to continue."""
        for name in names:
            self._images.setdefault(name, number)
        self._check_room()

    def _check_room(self) -> None:
        if len(self._lines) + len(self._images) >= MOST_PROBLEMS:
            raise BadAnswerFile(f"{self._message()}\n  Reading stopped there.")

    def raise_if_any(self) -> None:
        """Raise BadAnswerFile with the first problems and their number, if there are any."""
        if self._lines or self._images:
            raise BadAnswerFile(self._message())

    def _message(self) -> str:
        parts = ["Nothing was imported."]
        if self._images:
            n = len(self._images)
            what = "This image is" if n == 1 else f"These {n:,} images are"
            parts.append(f"{what} not in {self.searched}:")
            named = [f"  {name} (line {line:,})" for name, line in self._images.items()]
            parts += _first(named, "image")
        if self._lines:
            n = len(self._lines)
            parts.append(f"{n:,} line{' has a problem' if n == 1 else 's have problems'}:")
            parts += _first([f"  Line {line:,}: {text}" for line, text in self._lines], "line")
        return "\n".join(parts)


def _first(entries: list[str], noun: str) -> list[str]:
    more = len(entries) - SHOWN
    if more <= 0:
        return entries
    return [*entries[:SHOWN], f"  and {more:,} more {noun}{'' if more == 1 else 's'}"]

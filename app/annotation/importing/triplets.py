"""One line of a file of triplets: two images that belong together, and a third that is apart."""

import csv

from app.annotation.importing.lines import AnswerLine, shown
from app.annotation.importing.problems import BadLine

# Each names the images in the order of a line. cblearn's list-order (and our triplets.csv): the
# anchor is nearer to the second image than to the third. THINGS' trainset.txt: the third is the odd
# one out (Hebart et al. 2020).
HEADERS = (["anchor", "near", "far"], ["i", "j", "k"])
GROUPS = (0, 0, 1)
# People are unknown in such files.
ANNOTATOR = "triplets"


class TripletReader:
    """Reads lines with three images, separated by commas, tabs or, for positions, spaces.

    In both orders the third image is the one apart. A header is skipped.
    """

    def __init__(self, *, by_position: bool) -> None:
        self.by_position = by_position
        self._is_first = True

    def __call__(self, number: int, content: bytes) -> AnswerLine | None:
        """Read one line; None for a header. Raises BadLine with what is wrong."""
        values = self._values(content)
        is_first, self._is_first = self._is_first, False
        if is_first and [value.lower() for value in values] in HEADERS:
            return None
        if len(values) != 3:
            raise BadLine(f"It has {len(values)} values, not three images: {shown(values)}.")
        images = [self._image(value) for value in values]
        return AnswerLine(
            number=number,
            annotator=ANNOTATOR,
            images=images,
            groups=list(GROUPS),
            words=[],
            elapsed_ms=None,
            answered_at=None,
            id=None,
            ignored=[],
        )

    def _values(self, content: bytes) -> list[str]:
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise BadLine(f"It is not UTF-8 (byte {error.start + 1}).") from error
        if "," in text or "\t" in text or not self.by_position:
            separator = "\t" if "\t" in text else ","
            try:
                values = next(csv.reader([text], delimiter=separator, strict=True))
            except csv.Error as error:
                raise BadLine(f"It is not a line of a table ({error}).") from error
            return [value.strip() for value in values]
        return text.split()

    def _image(self, value: str) -> str | int:
        if not self.by_position:
            return value
        try:
            # NumPy writes whole numbers as 17.0 or 1.700000e+01.
            position = float(value)
            if position != int(position):
                raise ValueError(value)
        except (ValueError, OverflowError) as error:
            raise BadLine(f"A position must be a whole number, not {shown(value)}.") from error
        return int(position)

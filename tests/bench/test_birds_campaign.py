"""Placeholder pictures: one of each bird, in the order of positions, no two alike."""

import csv
from collections import Counter
from pathlib import Path

from bench.birds_campaign import SPECIES, species_of_birds, write_birds


def test_every_bird_has_a_picture_of_its_own(tmp_path: Path) -> None:
    write_birds(tmp_path)
    pictures = sorted(tmp_path.glob("*.png"))
    assert [picture.name for picture in pictures] == [f"bird-{k:03d}.png" for k in range(342)]
    assert len({picture.read_bytes() for picture in pictures}) == 342
    with (tmp_path / "species.csv").open(newline="") as table:
        species = [row["species"] for row in csv.DictReader(table)]
    assert species == [SPECIES[number] for number in species_of_birds()]
    assert list(Counter(species).values()) == [60, 60, 58, 57, 57, 50]

"""Accuracy and AUC as published in the paper (tables 2 and 3), not measured here."""

from __future__ import annotations

Published = dict[str, dict[str, tuple[float, float]]]


def _columns(*figures: float) -> dict[str, tuple[float, float]]:
    parts = ("syn1", "syn2", "hotel")
    return {part: (figures[2 * place], figures[2 * place + 1]) for place, part in enumerate(parts)}


TABLES: Published = {
    "SoftProb": _columns(0.666, 0.720, 0.664, 0.734, 0.850, 0.921),
    "EM": _columns(0.652, 0.717, 0.666, 0.732, 0.857, 0.918),
    "GLAD": _columns(0.614, 0.664, 0.636, 0.701, 0.850, 0.911),
    "Contrastive": _columns(0.580, 0.590, 0.600, 0.579, 0.850, 0.908),
    "Triple": _columns(0.654, 0.695, 0.644, 0.683, 0.864, 0.916),
    "TripleSemi": _columns(0.638, 0.678, 0.626, 0.641, 0.771, 0.795),
    "Centered": _columns(0.594, 0.612, 0.594, 0.605, 0.843, 0.912),
    "Lifted": _columns(0.588, 0.596, 0.598, 0.614, 0.836, 0.887),
    "Contrastive+EM": _columns(0.596, 0.605, 0.612, 0.622, 0.850, 0.906),
    "Triple+EM": _columns(0.650, 0.661, 0.672, 0.772, 0.864, 0.918),
    "TripleSemi+EM": _columns(0.616, 0.653, 0.640, 0.685, 0.750, 0.792),
    "Centered+EM": _columns(0.594, 0.600, 0.592, 0.620, 0.850, 0.918),
    "Lifted+EM": _columns(0.588, 0.600, 0.600, 0.616, 0.857, 0.911),
    "NeuCrowd": _columns(0.678, 0.729, 0.688, 0.751, 0.871, 0.928),
    "NeuCrowd−SA": _columns(0.670, 0.714, 0.680, 0.723, 0.857, 0.823),
    "NeuCrowd−SA−RA": _columns(0.665, 0.713, 0.664, 0.720, 0.850, 0.921),
    "NeuCrowd−SA−RA−SN": _columns(0.650, 0.712, 0.674, 0.662, 0.770, 0.838),
}

"""Converts a submitted form to QuestionFormAnswers, the document that requesters read."""

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from emulators.mturk.question import SCHEMAS

NAMESPACE = SCHEMAS + "2005-10-01/QuestionFormAnswers.xsd"
# XML 1.0 cannot contain these characters, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def answers_xml(fields: list[tuple[str, str]]) -> str:
    """One Answer per field name, in the form's order; several values are joined with `|`."""
    joined: dict[str, list[str]] = {}
    for name, value in fields:
        joined.setdefault(name, []).append(value)
    root = Element("QuestionFormAnswers", xmlns=NAMESPACE)
    for name, values in joined.items():
        answer = SubElement(root, "Answer")
        SubElement(answer, "QuestionIdentifier").text = _FORBIDDEN.sub("", name)
        SubElement(answer, "FreeText").text = _FORBIDDEN.sub("", "|".join(values))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")

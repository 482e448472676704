"""botocore's own service models, and the check of a document against a shape.

botocore.validate.ParamValidator reports values that are missing, unknown, too small or of a wrong
type. It accepts values that are too long, don't match the pattern or are not in the list; `_walk`
reports these.
"""

import re
from datetime import datetime
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

# Documents of the API. The check against the shape ensures the types of their members.
Document = dict[str, Any]


def load(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


MTURK = load("mturk")
SQS = load("sqs")


def operation(model: ServiceModel, name: str) -> OperationModel | None:
    return model.operation_model(name) if name in model.operation_names else None


def problems(shape: Shape | None, document: object) -> list[str]:
    """All violations of the shape by a document."""
    if shape is None:
        return [] if document == {} else ["This operation takes no members."]
    report = ParamValidator().validate(document, shape)
    errors = report.generate_report().splitlines() if report.has_errors() else []
    return errors + list(dict.fromkeys(_walk(shape, document, shape.name)))


def _walk(shape: Shape, value: object, where: str) -> list[str]:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return [
            problem
            for name, member in shape.members.items()
            if name in value
            for problem in _walk(member, value[name], f"{where}.{name}")
        ]
    if isinstance(shape, ListShape) and isinstance(value, list | tuple):
        inner = [
            problem
            for index, item in enumerate(value)
            for problem in _walk(shape.member, item, f"{where}[{index}]")
        ]
        return inner + _size(shape, len(value), where)
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return [
            p for key, item in value.items() for p in _walk(shape.value, item, f"{where}.{key}")
        ]
    if isinstance(value, str):
        return _text(shape, value, where)
    if isinstance(value, bool):
        return [] if shape.type_name == "boolean" else [f"{where}: a boolean is not a number."]
    if isinstance(value, int):
        return _size(shape, value, where)
    return []


def _size(shape: Shape, size: int, where: str) -> list[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if (low is not None and size < low) or (high is not None and size > high):
        return [f"{where}: {size} is not between {low} and {high}."]
    return []


def _text(shape: Shape, value: str, where: str) -> list[str]:
    if shape.type_name == "timestamp":
        return [f"{where}: times must be numbers in AWS JSON 1.1."]
    if shape.type_name != "string":
        return []
    errors = _size(shape, len(value), where)
    pattern, choices = shape.metadata.get("pattern"), shape.metadata.get("enum")
    if pattern and not re.fullmatch(pattern, value):
        errors.append(f"{where}: {value!r} does not match {pattern}.")
    if choices and value not in choices:
        errors.append(f"{where}: {value!r} is not one of {', '.join(choices)}.")
    return errors


def without_nothing(document: Document) -> Document:
    """The document without members that are None, at every depth."""

    def cleaned(value: object) -> object:
        if isinstance(value, dict):
            return {key: cleaned(item) for key, item in value.items() if item is not None}
        return [cleaned(item) for item in value] if isinstance(value, list) else value

    return {key: cleaned(item) for key, item in document.items() if item is not None}


def to_wire(value: object) -> object:
    """The value with times as seconds since 1970, as in AWS JSON 1.1."""
    if isinstance(value, datetime):
        return round(value.timestamp(), 3)
    if isinstance(value, dict):
        return {key: to_wire(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_wire(item) for item in value]
    return value

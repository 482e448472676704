"""`/docs/api` shows the OpenAPI document as a page for people, without scripts from other sites."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from app.core.markdown import render_markdown
from app.core.openapi import ADDRESS, TAGS
from app.core.web import templates

pages = APIRouter(include_in_schema=False)
Schema = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Field:
    name: str
    place: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    fields: list[Field]
    reply_code: str
    replies: list[str]


@pages.get("/docs/api", response_class=HTMLResponse)
def api_page(request: Request) -> Response:
    schema: Schema = request.app.openapi()
    context = {
        "about": render_markdown(schema["info"]["description"]),
        "release": schema["info"]["version"],
        "address": ADDRESS,
        "tags": {tag: render_markdown(text) for tag, text in TAGS.items()},
        "operations": operations_by_tag(schema),
        "schemas": {name: shape["properties"] for name, shape in _objects(schema)},
        "type_of": type_of,
    }
    return templates.TemplateResponse(request, "api.html", context)


def operations_by_tag(schema: Schema) -> dict[str, list[Operation]]:
    """Return all operations of the document, in its order."""
    by_tag: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in schema["paths"].items():
        for method in METHODS:
            if method in methods:
                for tag in methods[method].get("tags", ["other"]):
                    by_tag[tag].append(_operation(path, method, methods[method]))
    return dict(by_tag)


def _operation(path: str, method: str, operation: Schema) -> Operation:
    fields = [
        Field(
            parameter["name"],
            parameter["in"],
            type_of(parameter["schema"]),
            parameter.get("required", False),
            parameter.get("description", ""),
        )
        for parameter in operation.get("parameters", [])
    ]
    for content_type, content in operation.get("requestBody", {}).get("content", {}).items():
        required = operation["requestBody"].get("required", False)
        fields.append(Field("body", content_type, type_of(content["schema"]), required, ""))
    code = next(code for code in operation["responses"] if code.startswith("2"))
    content = operation["responses"][code].get("content", {})
    replies = [type_of(media["schema"]) for media in content.values() if media.get("schema")]
    description = operation.get("description", "").replace("\n", " ")
    summary = operation.get("summary", "")
    rest = description.removeprefix(summary).lstrip(". ")
    return Operation(
        operation["operationId"], method.upper(), path, summary, rest, fields, code, replies
    )


def _objects(schema: Schema) -> list[tuple[str, Schema]]:
    shapes = schema["components"]["schemas"]
    return [(name, shape) for name, shape in shapes.items() if "properties" in shape]


def type_of(schema: Schema) -> str:
    """Describe a JSON Schema in a few words: `integer`, `list of ImageOut`, `string or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(choice) for choice in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")

"""The OpenAPI document: what the framework makes, and what all of the API shares.

Operation ids are the names of the route functions, so that generated clients read well; they are
part of the API and do not change within a version.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

Schema = dict[str, Any]
ADDRESS = "/api/v1/openapi.json"
ANNOTATORS = "/api/v1/annotate"
PROBLEM = {"$ref": "#/components/schemas/Problem"}
# What the framework calls the bodies that it puts together of a form's fields.
FORMS = "Body_"
WRITES = ("post", "put", "patch", "delete")

TAGS = {
    "collections": "Sets of images, with attributes and features.",
    "campaigns": "Questions asked about a collection, and who may see them.",
    "annotators": "Answers, the quality of annotators' work, and their pages.",
    "results": "Progress, models, maps, attributes, and neighbours as a service.",
    "map": "The map of a model in pieces, for pages that draw 100,000 images.",
    "clusters": "Groups of images that lie close together in a model, to be named and merged.",
    "labels": "What the images of a select campaign are labelled, by votes and a classifier.",
    "planning": "What can be chosen, what a campaign will cost, and what simulated answers find.",
    "recruitment": "People from MTurk and Prolific, what they are paid, and the books of that.",
    "exports": "Files to take away.",
    "webhooks": "Signed messages to programs elsewhere, after the "
    "[Standard Webhooks](https://www.standardwebhooks.com) specification: the header "
    "`webhook-signature` holds `v1,` and the base64 of the HMAC-SHA256 of "
    "`{webhook-id}.{webhook-timestamp}.{body}`, with the key that follows `whsec_` in the secret, "
    "base64. `likewise.client.verify_webhook` checks it. Anything but a 2xx within ten seconds is "
    "tried again, for twelve hours and a half; a repetition has the same `webhook-id`.",
    "annotation": "What the annotators' page talks to, with a token of its own.",
}
DESCRIPTION = """Learns how people see likeness.

- **Who**: `Authorization: Bearer lw_…`, a token made under *Account*; or the session cookie.
- **Errors**: `application/problem+json` with a stable `code` and a sentence for a human.
  What is somebody else's is answered like what does not exist, with 404.
- **Lists** come in pages: `limit`, and `after` with the `next` of the page before.
- **POST** takes an `Idempotency-Key`: sent again, a request has its effect once.
"""
MEANINGS = {
    "400": "The body cannot be read as what it says it is.",
    "401": "No token or session, or one that is unknown, revoked or too old.",
    "403": "Not allowed: a token that may only read, or a campaign shared to look at.",
    "404": "There is none, or it is not yours.",
    "409": "Not in the state that it is in now.",
    "413": "The body is too large.",
    "422": "Something in the request is wrong; `errors` names fields where it can.",
    "503": "Not now: the server is busy, or its database or a platform does not answer. Try again.",
}
PROBLEM_SCHEMA: Schema = {
    "title": "Problem",
    "description": "An error, after RFC 9457. `code` is stable, `detail` is for humans.",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "description": "Of a request that does not fit the schema: each field and why.",
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "message"],
                "properties": {"where": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
    "examples": [
        {
            "type": "about:blank",
            "title": "Conflict",
            "status": 409,
            "code": "bad_state",
            "detail": "Cannot pause this campaign: it is draft, not running.",
        }
    ],
}
SECURITY: dict[str, Schema] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "lw_…",
        "description": "A personal token, made under Account: to read, or to read and write.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "likewise",
        "description": "Of a browser that has signed in; `__Host-likewise` over https.",
    },
    "annotator": {
        "type": "http",
        "scheme": "bearer",
        "description": "Given out by `open_session` for an annotators' link.",
    },
}


def release() -> str:
    """The version of this program."""
    try:
        return version("likewise")
    except PackageNotFoundError:
        return "0"


def operation_id(route: APIRoute) -> str:
    return route.name


def describe_api(app: FastAPI) -> None:
    """Let the application serve and know the completed document."""

    def described() -> Schema:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(app)
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # the documented way


def _completed(app: FastAPI) -> Schema:
    schema = get_openapi(
        title=app.title,
        version=release(),
        description=DESCRIPTION,
        routes=app.routes,
        webhooks=app.webhooks.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    parts = schema["components"]
    parts["schemas"]["Problem"] = PROBLEM_SCHEMA
    for framework in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(framework, None)
    parts["securitySchemes"] = SECURITY
    for name, part in parts["schemas"].items():
        if name.startswith(FORMS):
            fields = part["properties"].items()
            part["properties"] = {field: _not_null(kind) for field, kind in fields}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            _complete(path, method, operation)
    for event, methods in schema.get("webhooks", {}).items():
        for operation in methods.values():
            operation["operationId"] = f"on_{event.replace('.', '_')}"
            operation["responses"] = {"2XX": {"description": "Taken."}}
    return schema


def problem(description: str) -> Schema:
    """A response of an operation that is an error."""
    content = {"application/problem+json": {"schema": PROBLEM}}
    return {"description": description, "content": content}


def _complete(path: str, method: str, operation: Schema) -> None:
    text = operation.get("description", "")
    if text:
        summary, _, _ = text.replace("\n", " ").partition(". ")
        operation["summary"] = summary.rstrip(".")
    operation["security"] = _security(path, operation)
    _without_null(operation)
    codes = ["401"] if operation["security"] else []
    codes += ["403"] if method in WRITES else []
    codes += ["404"] if "{" in path or method in WRITES else []
    codes += ["400", "413"] if method in WRITES else []
    has_state = method in WRITES or "{" in path or path.startswith(ANNOTATORS)
    codes += ["409"] if has_state else []
    for code in [*codes, "422", "503"]:
        operation["responses"][code] = problem(MEANINGS[code])


def _without_null(operation: Schema) -> None:
    """What may be left out of an address or a header is never null there."""
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _not_null(parameter["schema"])


def _not_null(schema: Schema) -> Schema:
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) == len(schema.get("anyOf", [])):
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _security(path: str, operation: Schema) -> list[dict[str, list[str]]]:
    if not path.startswith(ANNOTATORS):
        return [{"token": []}, {"cookie": []}]
    return [{"annotator": []}] if "security" in operation else []

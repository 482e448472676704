"""Shared by all routes of the requester's API: one prefix, and idempotency keys for POST."""

import hashlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from app.accounts.routes import SignedIn
from app.core.bodies import Handler, StrictRoute
from app.core.database import transaction
from app.core.idempotency import IdempotentRequest, Reply, earlier_reply, keep_reply
from app.core.web import DatabaseSession

PREFIX = "/api/v1"


class _Answered(Exception):  # ends a request early, is no error
    """The request was already answered before."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


async def _sent(request: Request) -> FormData | bytes:
    """Return the body, which the framework has already read and parsed."""
    content_type = request.headers.get("content-type", "")
    if content_type.startswith(("multipart/", "application/x-www-form-urlencoded")):
        return await request.form()
    return await request.body()


def _hash(request: Request, sent: FormData | bytes) -> str:
    """Return a hash of the request's content. For forms it ignores the boundary, which differs at
    every attempt."""
    digest = hashlib.sha256(f"{request.url.query}\n".encode())
    if isinstance(sent, bytes):
        digest.update(sent)
        return digest.hexdigest()
    for name, value in sent.multi_items():
        if isinstance(value, UploadFile):
            content = hashlib.file_digest(value.file, "sha256").hexdigest()  # type: ignore[arg-type]
            value.file.seek(0)
            value = f"file {value.filename} {content}"
        digest.update(f"{len(name)} {len(value)} {name} {value}\n".encode())
    return digest.hexdigest()


def _once(
    request: Request,
    session: DatabaseSession,
    account: SignedIn,
    sent: Annotated[FormData | bytes, Depends(_sent)],
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=8,
            max_length=100,
            description="Random text, new for each request and the same when you send that "
            "request again. The request then takes effect once and gets the same "
            "reply. Kept for 24 hours.",
        ),
    ] = None,
) -> None:
    if idempotency_key is None:
        return
    route = f"{request.method} {request.url.path}"
    idempotent = IdempotentRequest(account.id, route, idempotency_key, _hash(request, sent))
    reply = earlier_reply(session, idempotent)
    if reply is not None:
        raise _Answered(reply)
    request.state.idempotent = (session, idempotent)


def _keep(session: Session, request: IdempotentRequest, reply: Reply) -> None:
    """Store the response in the route's transaction, or in a separate one if the route returned its
    connection to wait for a platform; no effect depends on that one."""
    if session.in_transaction():
        keep_reply(session, request, reply)
        return
    with transaction() as later:
        if earlier_reply(later, request) is None:
            keep_reply(later, request, reply)


class ApiRoute(StrictRoute):
    """A route whose POST takes an `Idempotency-Key`."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if "POST" in (options.get("methods") or ()):
            options["dependencies"] = [
                *(options.get("dependencies") or ()),
                Depends(_once, scope="function"),
            ]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def answer_once(request: Request) -> Response:
            try:
                response = await answer(request)
            except _Answered as answered:
                reply = answered.reply
                headers = {**reply.headers, "Idempotency-Replayed": "true"}
                return Response(reply.body, reply.status, headers)
            idempotent: tuple[Session, IdempotentRequest] | None = getattr(
                request.state, "idempotent", None
            )
            if idempotent is not None and response.status_code < 300:
                # This runs before the session's dependency ends, and with it the transaction.
                kept = Reply(response.status_code, dict(response.headers), bytes(response.body))
                await run_in_threadpool(_keep, *idempotent, kept)
            return response

        return answer_once


def api_router(path: str, tag: str) -> APIRouter:
    """Create a router under `/api/v1`; the whole requester's API is built with it."""
    return APIRouter(prefix=f"{PREFIX}{path}", tags=[tag], route_class=ApiRoute)

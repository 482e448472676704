"""A researcher's side of the Prolific emulator in a few words, over HTTP."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import httpx

from emulators.prolific.server import Emulator, running

Body = dict[str, object]
SUBMITTED_SECONDS = 5.0
BONUS_SECONDS = 60.0
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
LONG = (
    "The answers were the same in every grid, also in those that ask for the opposite: " + "x" * 30
)


def code(name: str, *actions: str | Mapping[str, object], actor: str = "participant") -> Body:
    """A completion code; an action is its name, or an object when it says more."""
    return {
        "code": name,
        "code_type": "OTHER",
        "actions": [{"action": a} if isinstance(a, str) else dict(a) for a in actions],
        "actor": actor,
    }


def draft(**changes: object) -> Body:
    return {
        "name": "Group pictures",
        "description": "Look at pictures and group those that are alike.",
        "external_study_url": f"http://127.0.0.1:9/a?{PLACEHOLDERS}",
        "prolific_id_option": "url_parameters",
        "total_available_places": 3,
        "estimated_completion_time": 5,
        "reward": 100,
        "completion_codes": [code("DONE", "MANUALLY_REVIEW")],
        **changes,
    }


class Desk:
    """Calls as a researcher, as participants and to the controls. Time is only skipped."""

    def __init__(self, emulator: Emulator, token: str | None = None) -> None:
        self.emulator = emulator
        self.http = httpx.Client(
            base_url=emulator.url,
            headers={"Authorization": f"Token {token or emulator.token}"},
            trust_env=False,
            verify=False,  # no https here; reading certificates takes longer than most tests
            timeout=60,
        )

    @contextmanager
    def checked(self) -> Iterator["Desk"]:
        """Nothing has happened yet; afterwards the emulator kept to its own contract."""
        self.post("/emulator/reset")
        yield self
        assert self.emulator.state.violations == []

    def call(self, method: str, path: str, status: int = 200, **more: object) -> Body:
        """A call of the API (or with a leading slash of anything), its status checked."""
        address = path if path.startswith("/") else f"/api/v1/{path}"
        reply = self.http.request(method, address, **more)  # type: ignore[arg-type]
        assert reply.status_code == status, f"{reply.status_code} {reply.text}"
        return cast(Body, reply.json()) if reply.content else {}

    def get(self, path: str, status: int = 200, /, **parameters: object) -> Body:
        return self.call("GET", path, status, params=parameters)

    def post(self, path: str, body: object = None, status: int = 200) -> Body:
        return self.call("POST", path, status, json=body)

    def study(self, publish: bool = True, **changes: object) -> str:
        id = str(self.post("studies/", draft(**changes), 201)["id"])
        if publish:
            self.publish(id)
        return id

    def publish(self, study: str, action: str = "PUBLISH", status: int = 200) -> Body:
        return self.post(f"studies/{study}/transition/", {"action": action}, status)

    def person(self, number: int = 0) -> str:
        return list(self.emulator.state.participants)[number]

    def take_part(self, study: str, number: int = 0, status: int = 200) -> str:
        wanted = {"participant": self.person(number)}
        reply = self.post(f"/market/studies/{study}/take-part", wanted, status)
        return str(reply.get("submission_id"))

    def come_back(self, submission: str, given: str | None = "DONE") -> str:
        """Complete, wait until it has arrived, and tell the status."""
        self.post(f"/market/submissions/{submission}/complete", {"code": given})
        self.wait(SUBMITTED_SECONDS)
        return self.status(submission)

    def finished(self, study: str, number: int = 0) -> str:
        submission = self.take_part(study, number)
        assert self.come_back(submission) == "AWAITING REVIEW"
        return submission

    def decide(self, submission: str, action: str, status: int = 200, **more: object) -> Body:
        body = {"action": action, **more}
        return self.post(f"submissions/{submission}/transition/", body, status)

    def status(self, submission: str) -> str:
        return str(self.get(f"submissions/{submission}/")["status"])

    def study_status(self, study: str) -> str:
        return str(self.get(f"studies/{study}/")["status"])

    def set_up_bonus(self, study: str, csv: str, status: int = 201) -> Body:
        return self.post(
            "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": csv}, status
        )

    def pay(self, bulk: object) -> None:
        self.post(f"bulk-bonus-payments/{bulk}/pay/", None, 202)
        self.wait(BONUS_SECONDS)

    def bonuses(self, submission: str) -> list[int]:
        return cast(list[int], self.get(f"submissions/{submission}/")["bonus_payments"])

    def wait(self, seconds: float) -> None:
        self.post("/emulator/clock/advance", {"seconds": float(seconds)})

    def faults(self, *faults: Body) -> None:
        self.call("PUT", "/emulator/faults", json=list(faults))

    @property
    def workspace(self) -> str:
        results = cast(list[Body], self.get("workspaces/")["results"])
        return str(results[0]["id"])

    def balance(self) -> tuple[int, int]:
        """Total and available."""
        reply = self.get(f"workspaces/{self.workspace}/balance/")
        return cast(int, reply["total_balance"]), cast(int, reply["available_balance"])

    def journal(self, kind: str) -> dict[str, int]:
        """What was spent on one kind of payment: money, fee, vat."""
        spent: dict[str, int] = {}
        for entry in self.emulator.state.wallet.journal:
            if entry.kind == kind:
                spent[entry.part] = spent.get(entry.part, 0) - entry.amount
        return spent


@contextmanager
def a_desk(**options: object) -> Iterator[Desk]:
    """An emulator in which little happens before time is skipped, and its researcher."""
    slow = {"submitted_seconds": SUBMITTED_SECONDS, "bonus_seconds": BONUS_SECONDS}
    with (
        running(**{**slow, **options}) as emulator,  # type: ignore[arg-type]
        Desk(emulator).checked() as desk,
    ):
        yield desk


def error(reply: Body) -> Body:
    return cast(Body, reply["error"])


def results(reply: Body) -> list[Body]:
    return cast(list[Body], reply["results"])

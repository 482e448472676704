"""The Prolific channel against the emulator, over HTTP: what is asked, once, whatever fails."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import httpx
import pytest

from app.recruitment.channel import (
    BonusOrder,
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    OutcomeUnknown,
    PostingOrder,
    PostingRef,
    Rejection,
    SubmissionRef,
)
from app.recruitment.channels import prolific as module
from app.recruitment.channels.prolific import Prolific, completion_address
from app.recruitment.channels.prolific_hooks import BadHook, verified
from app.recruitment.channels.prolific_http import ProlificHttp, _own_path
from app.recruitment.channels.prolific_token import BadToken
from app.recruitment.registry import Credentials, open_channel
from app.recruitment.settings import ProlificSettings
from emulators.prolific.objects import Participant, Study
from emulators.prolific.server import Emulator, running
from emulators.prolific.world import World
from tests.support.receiver import a_receiver

T = TypeVar("T")
PAGE = "https://likewise.example.org/a/prolific/abc"
WHY = (
    "The same image was put into every group, and all grids were done in under a second each. " * 2
)
ARRIVES = 30.0  # seconds from coming back with a code to AWAITING REVIEW
BONUS = 300.0  # seconds until a bonus is paid and shown
# Seconds that the client waits, more than a busy machine takes, and that a fault keeps it waiting.
PATIENCE, HANGS = 2.0, 4.0


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    with running(submitted_seconds=ARRIVES, bonus_seconds=BONUS) as emulator:
        yield emulator


class Market:
    """The emulator, as its people and as those who steer it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.http = httpx.Client(base_url=emulator.url, trust_env=False)
        self.tell("post", "/emulator/reset")

    @property
    def world(self) -> World:
        return self.emulator.state

    def tell(self, method: str, path: str, body: object = None) -> Any:
        reply = self.http.request(method, path, json=body)
        assert reply.is_success, reply.text
        return reply.json()

    def fails(self, *faults: Mapping[str, object]) -> None:
        self.tell("put", "/emulator/faults", list(faults))

    def later(self, seconds: float) -> None:
        self.tell("post", "/emulator/clock/advance", {"seconds": seconds})

    def people(self) -> list[Participant]:
        return list(self.world.participants.values())

    def starts(self, posting: PostingRef, person: Participant | None = None) -> SubmissionRef:
        """Somebody begins: the first who has not."""
        busy = {s.participant.id for s in self.world.of_study[posting.external_id]}
        participant = person or next(
            candidate for candidate in self.people() if candidate.id not in busy
        )
        body = {"participant": participant.id}
        begun = self.tell("post", f"/market/studies/{posting.external_id}/take-part", body)
        return SubmissionRef(posting, begun["submission_id"], participant.id)

    def comes_back(self, ref: SubmissionRef, code: str = "complete") -> SubmissionRef:
        body = {"code": ref.posting.details["codes"][code]}
        self.tell("post", f"/market/submissions/{ref.external_id}/complete", body)
        self.later(ARRIVES + 1)
        return ref

    def works(self, posting: PostingRef, person: Participant | None = None) -> SubmissionRef:
        return self.comes_back(self.starts(posting, person))

    def study(self, posting: PostingRef) -> Study:
        return self.world.studies[posting.external_id]

    def state(self, ref: SubmissionRef) -> str:
        return self.world.submissions[ref.external_id].status

    def paid(self, kind: str) -> dict[str, list[int]]:
        """What people got, by submission, from the journal."""
        amounts: dict[str, list[int]] = {}
        for entry in self.world.wallet.journal:
            if entry.kind == kind and entry.part == "money" and entry.submission:
                amounts.setdefault(entry.submission, []).append(-entry.amount)
        return amounts

    def asked(self, operation: str) -> int:
        return sum(call.operation == operation for call in self.world.calls)


@pytest.fixture
def market(server: Emulator) -> Iterator[Market]:
    emulated = Market(server)
    yield emulated
    assert emulated.world.violations == []
    emulated.fails()
    emulated.http.close()


@pytest.fixture
def channel(market: Market) -> Prolific:
    http = ProlificHttp(market.emulator.url, market.emulator.token, answer_seconds=PATIENCE)
    return Prolific(http)


def an_order(**changed: Any) -> PostingOrder:
    settings = ProlificSettings(minutes_estimated=10)
    order = PostingOrder(
        token="0f" * 16,
        title="Sort <small> pictures",
        description="Put pictures that look alike together.\nIt takes ten minutes & is fun.",
        url=PAGE,
        places=4,
        reward_cents=150,
        currency="GBP",
        settings=settings,
        campaign="c1",
    )
    return replace(order, **changed)


def with_settings(**values: Any) -> PostingOrder:
    return an_order(settings=ProlificSettings(minutes_estimated=10, **values))


def posted(channel: Prolific, order: PostingOrder | None = None) -> PostingRef:
    order = order or an_order()
    external_id, details = channel.publish(order)
    return PostingRef(external_id, details, order.settings)


def a_bonus(ref: SubmissionRef, cents: int, number: int = 1, **more: Any) -> BonusOrder:
    return BonusOrder(f"{number:032x}", ref, cents, "GBP", "Extra grids", **more)


# The account


def test_a_look_at_the_account_tells_who_what_money_and_that_it_is_real(
    market: Market, channel: Prolific
) -> None:
    checked = channel.check()
    assert (checked.balance_cents, checked.currency) == (1_000_000, "GBP")
    assert (checked.who, checked.problems) == ("researcher@example.org", ())
    assert "no sandbox" in checked.warnings[0]


def test_a_wrong_token_and_an_empty_purse_are_problems(
    market: Market, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    token = "emulated-token-of-nobody"
    checked = Prolific(ProlificHttp(market.emulator.url, token)).check()
    assert "does not accept the API token" in checked.problems[0]
    assert "users/me" in caplog.text
    assert token not in repr(checked) + caplog.text
    market.tell("post", "/emulator/researchers", {"token": "token-of-poor", "balance": 0})
    checked = Prolific(ProlificHttp(market.emulator.url, "token-of-poor")).check()
    assert "no money" in checked.problems[0]


def test_an_account_is_opened_by_its_environment(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = type(
        "S", (), {"prolific_endpoint": market.emulator.url, "prolific_site": "http://m"}
    )
    monkeypatch.setattr(module, "get_settings", lambda: settings)
    secret = {"token": market.emulator.token}
    assert open_channel("prolific", Credentials("custom", secret)).check().problems == ()
    assert module.base_address("production") == "https://api.prolific.com"
    assert completion_address("custom", "A&B") == "http://m/submissions/complete?cc=A%26B"
    production = completion_address("production", "AB")
    assert production == "https://app.prolific.com/submissions/complete?cc=AB"
    with pytest.raises(ChannelRefused, match="no sandbox"):
        open_channel("prolific", Credentials("sandbox", secret))


# Studies


def test_a_study_is_what_was_ordered(market: Market, channel: Prolific) -> None:
    order = an_order(
        excluded=(market.people()[0].id,),
        settings=ProlificSettings(
            minutes_estimated=10,
            minutes_allowed=40,
            countries=["GB", "IE"],
            min_percent_approved=95,
            min_approved=20,
            devices=["desktop"],
            screen_out_cents=20,
        ),
    )
    posting = posted(channel, order)
    study, codes = market.study(posting), posting.details["codes"]
    settings = study.settings
    assert (study.status, settings.reward, settings.total_available_places) == ("ACTIVE", 150, 4)
    assert settings.external_study_url == (
        f"{PAGE}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert settings.prolific_id_option == "url_parameters"
    assert "pictures that look alike together.</p><p>It takes ten minutes &amp;" in (
        settings.description
    )
    assert (settings.maximum_allowed_time, settings.device_compatibility) == (40, ["desktop"])
    assert settings.submissions_config.max_submissions_per_participant == 1
    filters = [
        study_filter.model_dump(exclude_none=True) for study_filter in settings.filters or []
    ]
    assert filters == [
        {
            "filter_id": "participant_group_blocklist",
            "selected_values": [posting.details["group_id"]],
        },
        {"filter_id": "current-country-of-residence", "selected_values": ["0", "2"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}},
        {"filter_id": "approval_numbers", "selected_range": {"lower": 20}},
    ]
    actions = {code.code: [action.action for action in code.actions] for code in study.codes}
    assert actions == {
        codes["complete"]: ["MANUALLY_REVIEW"],
        codes["screened_out"]: ["FIXED_SCREEN_OUT_PAYMENT"],
        codes["no_consent"]: ["REQUEST_RETURN"],
    }
    assert len({len(code) for code in codes.values()}) == 1
    assert min(len(code) for code in codes.values()) == 12
    assert posting.details["screen_out"] == {"cents": 20, "slots": 4}
    assert posting.details["cost_cents"] == 4 * (150 + 50)
    assert list(market.world.groups[posting.details["group_id"]].members) == list(order.excluded)
    status = channel.status(posting)
    assert (status.state, status.places, status.taken, status.at_work) == ("open", 4, 0, 0)


def test_two_studies_of_a_campaign_share_their_former_people_but_no_codes(
    market: Market, channel: Prolific
) -> None:
    first = posted(channel)
    second = posted(channel, an_order(token="1f" * 16))
    other = posted(channel, an_order(token="2f" * 16, campaign="c2"))
    assert first.details["group_id"] == second.details["group_id"] != other.details["group_id"]
    codes = [*first.details["codes"].values(), *second.details["codes"].values()]
    assert len(set(codes)) == len(codes)
    person = market.people()[3]
    channel.exclude(first, [person.id])
    body = {"participant": person.id}
    refused = market.http.post(f"/market/studies/{second.external_id}/take-part", json=body)
    assert "not eligible" in refused.text
    market.starts(other, person)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"currency": "USD"}, "pays in GBP"),
        ({"reward_cents": 0}, "needs a reward"),
        ({"reward_cents": 20}, "at least 600 per hour"),
        ({"settings": ProlificSettings(minutes_estimated=10, minutes_allowed=20)}, "at least 29"),
        ({"settings": ProlificSettings(screen_out_cents=150)}, "less than the reward"),
        ({"settings": ProlificSettings(countries=["FR"])}, "country FR"),
        ({"settings": ProlificSettings(countries=["US-CA"])}, "country US-CA"),
        ({"places": 100_000}, "Not enough funds"),
    ],
)
def test_what_prolific_would_not_take_is_refused_and_leaves_no_draft(
    market: Market, channel: Prolific, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ChannelRefused, match=message):
        channel.publish(an_order(**changed))
    assert market.world.studies == {}


PUBLISHING = (
    "get-workspaces",
    "get-participant-groups",
    "create-participant-group",
    "add-to-participant-group",
    "get-studies",
    "get-projects",
    "create-study",
    "calculate-study-cost",
    "publish-study",
)


@pytest.mark.parametrize("operation", PUBLISHING)
@pytest.mark.parametrize("kind", ["429", "5xx-after"])
def test_a_lost_answer_while_publishing_makes_no_second_study(
    market: Market, channel: Prolific, operation: str, kind: str
) -> None:
    order = an_order(excluded=(market.people()[0].id,))
    market.fails({"operation": operation, "kind": kind, "times": 1})
    with pytest.raises(ChannelUnavailable):
        channel.publish(order)
    first = channel.publish(order)
    assert channel.publish(order) == first
    assert [study.status for study in market.world.studies.values()] == ["ACTIVE"]
    assert len(market.world.groups) == 1


def test_a_study_that_hangs_while_it_is_published_is_found_again(
    market: Market, channel: Prolific
) -> None:
    market.fails(
        {"operation": "publish-study", "kind": "timeout-after", "times": 1, "seconds": HANGS}
    )
    with pytest.raises(ChannelUnavailable, match="did not answer"):
        channel.publish(an_order())
    channel.publish(an_order(title="Another title, days later"))
    assert market.asked("publish-study") == 1


def test_places_are_added_up_to_a_total(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    market.fails({"operation": "update-study", "kind": "5xx-after", "times": 1})
    with pytest.raises(ChannelUnavailable):
        channel.extend(posting, 3, "t", total=7)
    channel.extend(posting, 3, "t", total=7)
    assert market.study(posting).settings.total_available_places == 7
    assert market.asked("update-study") == 1
    with pytest.raises(ChannelRefused):
        channel.extend(posting, 3, "t")


def test_a_study_pauses_goes_on_and_stops_however_often_it_is_told(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    steps: list[tuple[Callable[[PostingRef], None], str]] = [
        (channel.pause, "paused"),
        (channel.resume, "open"),
        (channel.pause, "paused"),
        (channel.stop, "closed"),
    ]
    for action, state in steps:
        market.fails({"operation": "publish-study", "kind": "5xx-after", "times": 1})
        with pytest.raises(ChannelUnavailable):
            action(posting)
        action(posting)
        action(posting)
        assert channel.status(posting).state == state
    channel.pause(posting)
    with pytest.raises(ChannelRefused, match="ended"):
        channel.resume(posting)
    assert market.asked("publish-study") == 1 + len(steps)


# Submissions


def test_all_submissions_are_listed_in_every_state(market: Market, channel: Prolific) -> None:
    market.tell("post", "/emulator/participants", {"count": 150})
    posting = posted(channel, replace(with_settings(screen_out_cents=20), places=140))
    for _ in range(120):
        market.starts(posting)
    refs = [market.works(posting) for _ in range(3)]
    out = market.comes_back(market.starts(posting), "screened_out")
    no = market.comes_back(market.starts(posting), "no_consent")
    by_id = {submission.external_id: submission for submission in channel.submissions(posting)}
    assert len(by_id) == 125
    assert sum(submission.state == "accepted" for submission in by_id.values()) == 120
    submission = by_id[refs[0].external_id]
    assert submission == channel.submission(refs[0])
    assert (submission.state, submission.person) == ("submitted", refs[0].person)
    assert submission.code == posting.details["codes"]["complete"]
    assert submission.accepted_at
    assert submission.submitted_at
    assert submission.auto_approved_at
    assert submission.accepted_at.tzinfo is UTC
    assert submission.auto_approved_at - submission.submitted_at == timedelta(days=21)
    assert by_id[out.external_id].state == "screened_out"
    # Asked to return it, but for Prolific it waits for review: only the code tells.
    assert by_id[no.external_id].state == "submitted"
    assert by_id[no.external_id].code == posting.details["codes"]["no_consent"]
    status = channel.status(posting)
    assert (status.taken, status.at_work) == (124, 120)
    other = replace(refs[0], posting=replace(posting, external_id="f" * 24))
    assert channel.submission(other) is None
    assert channel.submission(replace(refs[0], external_id="f" * 24)) is None


Decision = Callable[[Prolific, SubmissionRef], None]
REJECT = Rejection("LOW_EFFORT", WHY)
DECISIONS: dict[str, tuple[Decision, str, dict[str, int]]] = {
    "approve": (lambda c, ref: c.approve(ref, ""), "APPROVED", {"reward": 150}),
    "reject": (lambda c, ref: c.reject(ref, REJECT), "REJECTED", {}),
    "screen_out": (lambda c, ref: c.screen_out(ref), "SCREENED OUT", {"screen-out": 20}),
    "reverse": (lambda c, ref: c.reverse(ref, ""), "APPROVED", {"reward": 150}),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_has_its_effect_once_though_its_answer_is_lost(
    market: Market, channel: Prolific, name: str
) -> None:
    decide, state, money = DECISIONS[name]
    ref = market.works(posted(channel, with_settings(screen_out_cents=20)))
    if name == "reverse":
        channel.reject(ref, REJECT)
    # Two requests are made for a reversal, and both answers are lost.
    times = 2 if name == "reverse" else 1
    market.fails({"operation": "transition-submission", "kind": "5xx-after", "times": times})
    for _ in range(times):
        with pytest.raises(ChannelUnavailable):
            decide(channel, ref)
    decide(channel, ref)
    decide(channel, ref)
    assert market.state(ref) == state
    for kind in ("reward", "screen-out"):
        expected = {ref.external_id: [money[kind]]} if kind in money else {}
        assert market.paid(kind) == expected
    messages = [message.body for message in market.world.messages]
    assert messages == ([WHY.strip()] if name in ("reject", "reverse") else [])


def test_what_has_not_arrived_yet_is_decided_on_later(market: Market, channel: Prolific) -> None:
    ref = market.starts(posted(channel))
    for name in ("approve", "reject"):
        with pytest.raises(ChannelUnavailable, match="as submitted yet"):
            DECISIONS[name][0](channel, ref)
    market.comes_back(ref)
    channel.approve(ref, "")
    with pytest.raises(ChannelRefused, match="REJECT is not possible"):
        channel.reject(ref, REJECT)
    with pytest.raises(ChannelRefused, match="has no pay"):
        channel.screen_out(ref)


@pytest.mark.parametrize(
    ("rejection", "message"),
    [
        (Rejection("LOW_EFFORT", "Too bad." + " " * 100), "at least 100"),
        (Rejection("UGLY", WHY), "UGLY"),
    ],
)
def test_a_rejection_without_a_reason_is_not_sent(
    market: Market, channel: Prolific, rejection: Rejection, message: str
) -> None:
    ref = market.works(posted(channel))
    with pytest.raises(ChannelRefused, match=message):
        channel.reject(ref, rejection)
    assert market.asked("transition-submission") == 0


# Bonuses


def test_bonuses_of_a_batch_are_paid_in_hundredths_as_asked(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(3)]
    amounts = [425, 30, 1]
    orders = [a_bonus(ref, amounts[n], n) for n, ref in enumerate(refs)]
    orders.append(a_bonus(refs[0], 7, 9))
    outcomes = channel.pay_bonuses(orders)
    assert [outcome.token for outcome in outcomes] == [order.token for order in orders]
    assert [outcome.error is None for outcome in outcomes] == [True, True, True, False]
    assert isinstance(outcomes[3].error, ChannelUnavailable)
    market.later(BONUS + 1)
    assert market.paid("bonus") == {
        ref.external_id: [cents] for ref, cents in zip(refs, amounts, strict=True)
    }
    assert channel.find_bonus(orders[0]) == ""
    assert channel.find_bonus(orders[3]) is None


def test_a_wrong_line_does_not_stop_the_others(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    ref = market.works(posting)
    stranger = SubmissionRef(posting, "e" * 24, "e" * 24)
    outcomes = channel.pay_bonuses([a_bonus(stranger, 50, 1), a_bonus(ref, 60, 2)])
    assert isinstance(outcomes[0].error, ChannelRefused)
    assert outcomes[1].error is None
    market.later(BONUS + 1)
    assert market.paid("bonus") == {ref.external_id: [60]}


def test_bonuses_that_nobody_has_the_money_for_are_refused(
    market: Market, channel: Prolific
) -> None:
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(2)]
    outcomes = channel.pay_bonuses([a_bonus(ref, 600_000, n) for n, ref in enumerate(refs)])
    assert all(isinstance(outcome.error, ChannelRefused) for outcome in outcomes)
    assert "Not enough funds" in str(outcomes[0].error)
    foreign = channel.pay_bonuses([replace(a_bonus(refs[0], 5), currency="USD")])
    assert isinstance(foreign[0].error, ChannelRefused)
    market.later(BONUS + 1)
    assert market.paid("bonus") == {}


@pytest.mark.parametrize(
    ("kind", "paid"),
    [
        ("timeout-after", True),
        ("timeout-before", False),
        ("5xx-after", True),
        ("5xx-before", False),
    ],
)
def test_a_payment_without_an_answer_is_looked_for_and_never_made_again(
    market: Market, channel: Prolific, kind: str, paid: bool
) -> None:
    """Acceptance test 14, the channel's part."""
    posting = posted(channel)
    refs = [market.works(posting) for _ in range(2)]
    orders = [a_bonus(ref, 50, n) for n, ref in enumerate(refs)]
    market.fails({"operation": "pay-*", "kind": kind, "times": 1, "seconds": HANGS})
    outcomes = channel.pay_bonuses(orders)
    assert all(isinstance(outcome.error, OutcomeUnknown) for outcome in outcomes)
    assert [channel.find_bonus(order) for order in orders] == [None, None]
    market.later(BONUS + 1)
    assert [channel.find_bonus(order) for order in orders] == (["", ""] if paid else [None, None])
    assert market.paid("bonus") == ({ref.external_id: [50] for ref in refs} if paid else {})
    assert market.asked("pay-bonus-payments") == 1


@pytest.mark.parametrize("kind", ["429", "5xx-before", "5xx-after", "timeout-after"])
def test_bonuses_that_were_only_set_up_are_paid_later(
    market: Market, channel: Prolific, kind: str
) -> None:
    ref = market.works(posted(channel))
    market.fails({"operation": "create-bonus-payments", "kind": kind, "times": 1, "seconds": HANGS})
    order = a_bonus(ref, 50)
    assert isinstance(channel.pay_bonuses([order])[0].error, ChannelUnavailable)
    assert market.asked("pay-bonus-payments") == 0
    assert channel.pay_bonuses([order])[0].error is None
    market.later(BONUS + 1)
    assert market.paid("bonus") == {ref.external_id: [50]}


def test_a_payment_that_was_turned_away_or_never_left_is_tried_later(
    market: Market, channel: Prolific
) -> None:
    order = a_bonus(market.works(posted(channel)), 50)
    market.fails({"operation": "pay-*", "kind": "429", "times": 1})
    assert isinstance(channel.pay_bonuses([order])[0].error, ChannelUnavailable)
    nobody = ProlificHttp("http://127.0.0.1:1", "token-of-nobody")
    with pytest.raises(ChannelUnavailable, match="can't be reached"):
        nobody.pay("/api/v1/bulk-bonus-payments/1/pay/")


def test_a_bonus_is_told_from_earlier_ones_of_the_same_amount(
    market: Market, channel: Prolific
) -> None:
    ref = market.works(posted(channel))
    assert channel.pay_bonuses([a_bonus(ref, 50, 1)])[0].error is None
    market.later(BONUS + 1)
    second = a_bonus(ref, 50, 2, earlier_cents=(50,))
    assert channel.find_bonus(second) is None
    assert channel.find_bonus(replace(second, earlier_cents=(30,))) == ""
    assert channel.pay_bonuses([second])[0].error is None
    market.later(BONUS + 1)
    assert channel.find_bonus(second) == ""


def test_a_whole_run_with_a_third_of_all_calls_failing_pays_everybody_once(
    market: Market, channel: Prolific
) -> None:
    """As the core will drive it: repeat what may be repeated, look for what may not."""
    shares = [("429", 0.1), ("5xx-before", 0.1), ("5xx-after", 0.15)]
    market.fails(*({"kind": kind, "probability": share} for kind, share in shares))
    order = an_order(places=12)
    external_id, details = until_done(lambda: channel.publish(order))
    posting = PostingRef(external_id, details, order.settings)
    refs = [market.works(posting) for _ in range(12)]
    for ref in refs:
        until_done(partial(channel.approve, ref, ""))
    orders = [a_bonus(ref, 10 + n, n) for n, ref in enumerate(refs)]
    parked = {bonus.token for bonus in orders if not settled(market, channel, bonus)}
    market.later(BONUS + 1)
    assert [study.status for study in market.world.studies.values()] == ["COMPLETED"]
    assert market.paid("reward") == {ref.external_id: [150] for ref in refs}
    bonuses = market.paid("bonus")
    for bonus in orders:
        expected = [] if bonus.token in parked else [bonus.amount_cents]
        assert bonuses.get(bonus.submission.external_id, []) == expected
    assert len(parked) < len(orders)
    money = -sum(
        e.amount for e in market.world.wallet.journal if e.part == "money" and e.amount < 0
    )
    assert money == 12 * 150 + sum(o.amount_cents for o in orders if o.token not in parked)


def settled(market: Market, channel: Prolific, order: BonusOrder) -> bool:
    """Whether a bonus was paid; False: nobody knows for sure, and it is left alone."""
    for _ in range(60):
        error = channel.pay_bonuses([order])[0].error
        if error is None:
            return True
        if isinstance(error, OutcomeUnknown):
            market.later(BONUS + 1)
            return until_done(lambda: channel.find_bonus(order)) is not None
        assert isinstance(error, ChannelUnavailable), error
    raise AssertionError("never answered")


def until_done(action: Callable[[], T]) -> T:
    for _ in range(60):
        try:
            return action()
        except ChannelUnavailable:
            continue
    raise AssertionError("never answered")


# Who comes


def test_who_comes_is_checked_with_prolific(market: Market, channel: Prolific) -> None:
    posting = posted(channel)
    ref, other = market.starts(posting), market.starts(posting)
    study = posting.external_id
    submission = channel.confirm_person(ref.external_id, ref.person, study)
    assert (submission.state, submission.person) == ("accepted", ref.person)
    forged = [
        ("another_person", ref.external_id, other.person, study),
        ("another_person", ref.external_id, "", study),
        ("another_study", ref.external_id, ref.person, "f" * 24),
        ("unknown_submission", "f" * 24, ref.person, study),
        ("unknown_submission", "../users/me", ref.person, study),
        ("unknown_submission", "", ref.person, study),
    ]
    for code, *three in forged:
        with pytest.raises(ChannelRefused) as caught:
            channel.confirm_person(*three)
        assert caught.value.code == code
    market.comes_back(ref)
    market.tell("post", f"/market/submissions/{other.external_id}/return")
    for gone, code in ((ref, "handed_in"), (other, "not_at_work")):
        with pytest.raises(ChannelRefused) as caught:
            channel.confirm_person(gone.external_id, gone.person, study)
        assert caught.value.code == code


def test_a_signed_address_is_checked_with_the_published_keys(
    market: Market, channel: Prolific
) -> None:
    module._keys.cache_clear()
    ref = market.starts(posted(channel))
    url = f"{PAGE}?PROLIFIC_PID={ref.person}&STUDY_ID={ref.posting.external_id}"
    url += f"&SESSION_ID={ref.external_id}"
    submission, signer = market.world.submissions[ref.external_id], market.world.signer
    claims = channel.token_claims(signer.token(submission, url), PAGE)
    assert (claims.session_id, claims.participant) == (ref.external_id, ref.person)
    assert claims.study == ref.posting.external_id
    for wrong in ("forged", "expired", "foreign"):
        with pytest.raises(BadToken):
            channel.token_claims(signer.token(submission, url, wrong), PAGE)


# Notifications


def test_notifications_are_asked_for_once_and_verify(market: Market, channel: Prolific) -> None:
    with a_receiver() as receiver:
        market.fails({"operation": "create-subscription", "kind": "5xx-after", "times": 1})
        with pytest.raises(ChannelUnavailable):
            channel.ensure_hooks(receiver.url)
        secret = channel.ensure_hooks(receiver.url)
        assert channel.ensure_hooks(receiver.url) == secret
        kinds = sorted(s.event_type for s in market.world.hooks.subscriptions.values())
        assert kinds == ["study.status.change", "submission.status.change"]
        event = {
            "event_type": "submission.status.change",
            "resource_id": "f" * 24,
            "status": "AWAITING REVIEW",
        }
        for mode in ("valid", "wrong-signature", "no-signature"):
            market.tell("post", "/emulator/hooks/send", event | {"mode": mode})
        market.tell("post", "/emulator/hooks/send", event | {"age_seconds": 400})
        good, *bad = receiver.came
        now = datetime.now(UTC)
        notification = verified(good[0], good[1], secret, now)
        assert (notification.submission, notification.status) == ("f" * 24, "AWAITING REVIEW")
        assert len(bad) == 3
        for headers, body in bad:
            with pytest.raises(BadHook):
                verified(headers, body, secret, now)


def test_a_link_in_a_list_leads_the_token_nowhere_else() -> None:
    """A list's `next` is followed on the host that was asked, or not at all."""
    inside = "/api/v1/submissions/?page=2"
    assert _own_path(f"https://evil.example{inside}") == inside
    for address in ("https://evil.example/steal", "//evil.example/x", "http://[", ""):
        with pytest.raises(ChannelError):
            _own_path(address)

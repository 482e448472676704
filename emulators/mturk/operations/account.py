"""The balance, blocked workers and messages to workers."""

from emulators.mturk import money
from emulators.mturk.errors import Refused
from emulators.mturk.operations.call import Call, operation
from emulators.mturk.shapes import Document

MOST_BLOCKS = 100_000
MOST_RECIPIENTS = 100


@operation("GetAccountBalance")
def get_account_balance(call: Call) -> Document:
    return {"AvailableBalance": money.as_amount(money.available(call.state, call.owner))}


@operation("CreateWorkerBlock")
def create_worker_block(call: Call) -> Document:
    blocks = call.state.requesters[call.owner].blocks
    worker = call.worker()
    call.not_blank("Reason")
    if worker.worker_id not in blocks and len(blocks) >= MOST_BLOCKS:
        raise Refused(f"More than {MOST_BLOCKS} blocked workers.", "ParameterOutOfRange")
    blocks[worker.worker_id] = call.params["Reason"]
    return {}


@operation("DeleteWorkerBlock")
def delete_worker_block(call: Call) -> Document:
    """Unblocking a worker who is not blocked succeeds, as documented."""
    call.state.requesters[call.owner].blocks.pop(call.worker().worker_id, None)
    return {}


@operation("ListWorkerBlocks")
def list_worker_blocks(call: Call) -> Document:
    blocks = sorted(call.state.requesters[call.owner].blocks.items())
    return call.page(
        "WorkerBlocks",
        blocks,
        lambda block: block[0],
        lambda block: {"WorkerId": block[0], "Reason": block[1]},
    )


@operation("NotifyWorkers")
def notify_workers(call: Call) -> Document:
    """Notify workers whose work the caller has reviewed; the response names the others."""
    params, state = call.params, call.state
    call.longest(Subject=200, MessageText=4096)
    if not 1 <= len(params["WorkerIds"]) <= MOST_RECIPIENTS:
        raise Refused(f"1 to {MOST_RECIPIENTS} WorkerIds can be notified.", "ParameterOutOfRange")
    known = {
        assignment.worker_id
        for hit in state.hits.values()
        if hit.owner == call.owner
        for assignment in hit.assignments
        if assignment.state in ("Approved", "Rejected")
    }
    reached = [worker for worker in params["WorkerIds"] if worker in known]
    if reached:
        state.letters.append(
            {
                "at": state.clock.now(),
                "requester": call.owner,
                "workers": reached,
                "subject": params["Subject"],
                "text": params["MessageText"],
            }
        )
    failures = [
        {
            "NotifyWorkersFailureCode": "HardFailure",
            "NotifyWorkersFailureMessage": "You have not reviewed any work of this worker.",
            "WorkerId": worker,
        }
        for worker in params["WorkerIds"]
        if worker not in known
    ]
    return {"NotifyWorkersFailureStatuses": failures}

"""Scenarios that end the worker at once: at random, at named steps, while it recovers, with the power."""

import random
import time

from .bench import Bench
from .checks import Broken
from .shim import STEPS

ROUND = 50  # cycles that share a store and a log
SHORT_ROUND = 5
# Those of Kafka transactions and of rebalances have scenarios of their own: notify.py, members.py.
NAMED = [step for step in STEPS if step != "any-operation" and not step.startswith(("transaction-", "revoke-"))]


def rounds(seed, cycles, size=ROUND):
    """Cuts cycles into rounds with a seed each; the first round's is the seed itself, so that it can be run again."""
    for number, done in enumerate(range(0, cycles, size)):
        yield f"{seed}.{number}" if number else f"{seed}", min(size, cycles - done)


def turn(sub):
    """Which round of its scenario a seed is of, from 0; the same when the round is run again by itself."""
    return int(sub.rpartition(".")[2]) if "." in sub else 0


def small_commits(chance):
    """Settings under which a commit is a few records, so that there are many moments between them."""
    chunk = chance.choice([1, 7, 20, 60])
    grown = chance.choice([1, 1, 200])
    return (
        f"chunk.maxOperations={chunk}", f"chunk.maxBacklogOperations={grown}",
        f"commit.maxRows={chance.choice([1, 50, 400])}", f"chunk.threads={chance.choice([1, 2])}")


def kill_random(report, options, seed, cycles):
    for sub, count in rounds(seed, cycles):
        with report.round(sub), Bench(options, sub, options.events or 30_000) as bench:
            chance = random.Random(f"kills/{sub}")
            for cycle in range(count):
                group = f"life-{cycle}"
                worker = bench.start(*small_commits(chance), group=group)
                if chance.random() < 0.3:
                    time.sleep(chance.random() * 1.2)
                else:
                    before = bench.position()
                    step = 1 + chance.randrange(max(1, 2 * (bench.total - before) // (count - cycle)))
                    bench.wait_position(worker, min(before + step, bench.total), 60)
                    time.sleep(chance.random() * 0.03)
                bench.measure(worker)
                worker.kill()
                bench.check_dead(group)
                report.cycle()
            bench.finish(group="last")
            report.worst(bench.worst)


def kill_step(report, options, seed, cycles, step):
    for sub, count in rounds(seed, cycles):
        with report.round(sub):
            step_round(report, options, sub, count, [step])


def kill_steps(report, options, seed, cycles):
    """All steps in turn, on one store."""
    for sub, count in rounds(seed, cycles):
        with report.round(sub):
            step_round(report, options, sub, count, NAMED)


def is_rare(step):
    """Whether it belongs to a checkpoint, which comes once in 16,000 pages of the log."""
    return step.startswith("checkpoint") or step in ("log-restart", "log-after-restart")


def step_round(report, options, sub, count, steps, manner="kill"):
    """Ends the worker at occurrences of steps; a store that has read the log to its end gets more of it."""
    may_go_back = manner != "kill"
    events = options.events or (40_000 if is_rare(steps[0]) else 12_000)
    with Bench(options, sub, events) as bench:
        chance = random.Random(f"{steps[0]}/{sub}")
        if manner != "kill":
            bench.memory_limit += 350  # the shim keeps what is not synced, in the worker's memory
        for cycle in range(count):
            step = steps[cycle % len(steps)]
            if bench.position() >= bench.total:
                bench.produce(events)
            bench.shim.order(
                step, at=occurrence(step, chance), manner=manner, seed=chance.randrange(1, 1 << 60))
            group = f"life-{cycle}"
            # A few records a commit fill the log soon.
            settings = ("chunk.maxOperations=4", "commit.maxRows=1") if is_rare(step) else small_commits(chance)
            worker = bench.start(*settings, group=group)
            reached = wait_end(bench, worker, 60)
            bench.shim.clear()
            bench.check_dead(None if may_go_back else group, may_go_back)
            report.cycle(reached)
        bench.finish(group="last", notifications="none" if may_go_back else "all")
        report.worst(bench.worst)


def occurrence(step, chance):
    if step == "checkpoint-between-pages" or step == "checkpoint-torn-page":
        return chance.randrange(1, 300)
    if is_rare(step) or step == "lease-take":
        return chance.randrange(1, 3)
    if step in ("offsets-before-commit", "offsets-after-commit", "cursor-before-save", "cursor-after-save"):
        return chance.randrange(1, 3)
    return chance.choice([1, 2, chance.randrange(1, 40), chance.randrange(1, 400)])


def wait_end(bench, worker, seconds):
    """Waits for the kill; at the end of the log the worker is stopped, which may reach the step too."""
    deadline = time.monotonic() + seconds
    idle = None
    while worker.is_running and time.monotonic() < deadline:
        if idle is None and bench.position() >= bench.total:
            idle = time.monotonic()
        if idle is not None and time.monotonic() - idle > 2:
            worker.wait_ready(True, 10)
            bench.end(worker, codes=(0, -9))
            break
        time.sleep(0.01)
    if worker.is_running:
        worker.kill()
        return False
    # 75 with store.busy: it met the harness reading the store; it would be started again.
    if worker.process.returncode not in (0, -9, 75):
        raise Broken("I6", f"the worker ended with {worker.process.returncode}:\n{worker.end_of_log()}")
    return worker.process.returncode == -9


def kill_in_recovery(report, options, seed, cycles):
    """A second kill within 200 ms of the start, several in a row, after one in the middle of a commit."""
    for sub, count in rounds(seed, cycles):
        with report.round(sub), Bench(options, sub, options.events or 30_000) as bench:
            chance = random.Random(f"recovery/{sub}")
            for cycle in range(count):
                if cycle % 5 == 0:
                    bench.shim.order(chance.choice(NAMED[:6]), at=chance.randrange(1, 60))
                    worker = bench.start(*small_commits(chance), group=f"first-{cycle}")
                    wait_end(bench, worker, 30)
                    bench.shim.clear()
                worker = bench.start(group=f"second-{cycle}")
                time.sleep(chance.random() * 0.2)
                worker.kill()
                bench.check_dead(f"second-{cycle}")
                report.cycle()
            bench.finish(group="last")
            report.worst(bench.worst)


def power_loss(report, options, seed, cycles):
    """What was not synced is lost, whole or in part, or turns to garbage: at any operation and at checkpoints."""
    steps = [step for step in NAMED if step.startswith(("log", "checkpoint"))] + ["any-operation"]
    for sub, count in rounds(seed, cycles, SHORT_ROUND):
        chance = random.Random(f"power/{sub}")
        step, manner = chance.choice(steps), chance.choice(["lose-all", "lose-some", "garble-some"])
        with report.round(sub):
            step_round(report, options, sub, count, [step], manner)

"""Scenarios of a store for each partition, which processes of one group share out among them."""

import random
import signal
import time

from .checks import Broken
from .kills import rounds
from .members import REVOKE
from .partitioned import StoresBench

# To take a partition is to take the lease of its store, to give it up is to save, to commit offsets and to let go.
STEPS = ["lease-take", *REVOKE, "log-first-frame", "log-before-commit-frame", "log-after-commit-frame",
         "offsets-before-commit", "offsets-after-commit", "notification-before-send", "notification-after-send",
         "cursor-before-save", "cursor-after-save"]
ROUND = 2 * len(STEPS)


def stores_kill(report, options, seed, cycles):
    """kill -9 of a process: at random, and at the steps of taking a partition and of giving it up."""
    for sub, count in rounds(seed, cycles, ROUND):
        with report.round(sub), StoresBench(options, sub, options.events or 6000) as bench:
            chance = random.Random(f"stores/{sub}")
            bench.start_all()
            bench.await_progress()
            steps = chance.sample(STEPS, len(STEPS))
            for cycle in range(count):
                bench.feed(chance)
                step = None if cycle % 2 else steps[cycle // 2 % len(steps)]
                report.cycle(one_kill(bench, chance, step))
            bench.finish_all()
            report.worst(bench.worst)


def one_kill(bench, chance, step):
    """Kills a process, and starts it again; tells whether it came to the step."""
    number = chance.randrange(bench.count)
    if step:
        reached = kill_at(bench, chance, number, step)
    else:
        bench.await_progress(chance.randrange(1, 600))
        time.sleep(chance.random())
        reached = True
    bench.members[number].kill()
    bench.shims[number].clear()
    bench.check_live()
    bench.start_member(number)
    if chance.random() < 0.7:
        bench.await_progress()
    return reached


def kill_at(bench, chance, number, step):
    """Orders the kill, and moves partitions, so that the process comes to the step."""
    bench.await_start(bench.members[number])
    bench.shims[number].order(step, at=chance.randrange(1, 4))
    if step == "lease-take" or step in REVOKE:
        other = (number + 1) % bench.count
        bench.end_member(other)
        bench.start_member(other)
    deadline = time.monotonic() + 20
    while bench.members[number].is_running and time.monotonic() < deadline:
        bench.feed(chance)
        time.sleep(0.05)
    return not bench.members[number].is_running


# --- a process that stands still


def stores_stop(report, options, seed, cycles):
    """A process stands still past its session and its leases while others take its partitions over, and goes on."""
    for sub, count in rounds(seed, cycles, 8):
        with report.round(sub), StoresBench(options, sub, options.events or 6000) as bench:
            chance = random.Random(f"stop/{sub}")
            bench.start_all()
            for _ in range(count):
                report.cycle(one_stop(bench, chance))
            bench.finish_all()
            report.worst(bench.worst)


def one_stop(bench, chance, meddle=None):
    """Returns whether all of the process's stores were taken over. One in whose commit it stands still has the lock of
    the file, and then nobody can."""
    await_shares(bench)
    bench.feed(chance)
    bench.await_progress(chance.randrange(1, 300))
    first = bench.members[chance.randrange(bench.count)]
    first.send(signal.SIGSTOP)
    former = bench.states(bench.held_by(first))
    bench.produce(chance.randrange(3000, 6000))
    taken = await_takeover(bench, first, former)
    time.sleep(chance.choice([0, 2 * chance.random()]))
    if meddle:
        meddle(bench, former)
    go_on_alone(bench, first, taken) if meddle or chance.random() < 0.6 else first.send(signal.SIGCONT)
    await_shares(bench)
    bench.check_live()
    return len(taken) == len(former)


def await_shares(bench):
    """Waits until each process holds stores: the group gives each of them some."""
    bench.await_that(lambda: all(bench.held_by(worker) for worker in bench.members), "each process holds stores", 60)


def await_takeover(bench, first, former, seconds=25):
    """Waits until other processes hold the stores of the first; returns those that they hold."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        held = bench.held_by(first)
        taken = [partition for partition in former if partition not in held]
        if len(taken) == len(former):
            break
        time.sleep(0.1)
    if not taken:
        raise Broken("I6", f"nobody took the stores {list(former)} over in {seconds} s:\n" + "\n".join(
            worker.end_of_log() for worker in bench.members if worker is not first))
    return taken


def go_on_alone(bench, first, taken):
    """Lets the process go on while the others stand still, so that what changes in the stores is its work (I7)."""
    others = [worker for worker in bench.members if worker is not first]
    for worker in others:
        worker.send(signal.SIGSTOP)
    try:
        before = bench.states(taken)
        end = time.monotonic() + 1.5
        first.send(signal.SIGCONT)
        while time.monotonic() < end:
            check_unwritten(bench, before)
            time.sleep(0.05)
    finally:
        for worker in others:
            worker.send(signal.SIGCONT)


def check_unwritten(bench, before):
    """A store whose lease another process holds, which stands still, has no writer."""
    for partition, former in before.items():
        state = bench.state(partition)
        if state != former and time.time() < expiry(former):
            raise Broken("I7", f"store {partition} was written by a process that had lost it: {former}, then {state}")


def expiry(state):
    """The end of a lease in seconds."""
    return state["expires"] / 1000

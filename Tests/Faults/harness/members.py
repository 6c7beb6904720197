"""Scenarios of the group's protocols: cooperative and static members, kills within a revocation, and long absences."""

import random
import signal
import time

from .bench import Bench
from .checks import Broken
from .groups import Group
from .kills import rounds, turn
from .outages import RETURN_SECONDS, SLOW, Watch, feed, leave, ready_worker

REVOKE = ["revoke-begin", "revoke-saved", "revoke-done"]
ROUND = 6


def cooperative(report, options, seed, cycles):
    """Members come and go with cooperative-sticky and with range, and the worker is killed while it gives partitions
    up; by turns, a static member is killed and comes back under its name."""
    for sub, count in rounds(seed, cycles, ROUND):
        body = [cooperative_round, static_round, range_round][turn(sub) % 3]
        with report.round(sub):
            body(report, options, sub, count)


def cooperative_round(report, options, sub, count):
    revoke_round(report, options, sub, count, "cooperative-sticky")


def range_round(report, options, sub, count):
    revoke_round(report, options, sub, count, "range,roundrobin")


def revoke_round(report, options, sub, count, strategy):
    with Bench(options, sub, options.events or 8000, partitions=4, kind="tansu") as bench:
        chance = random.Random(f"members/{sub}")
        group = Group(bench, report, {"partition.assignment.strategy": strategy})
        try:
            group.start()
            for number in range(count):
                group.heal()
                feed(bench, chance)
                step = chance.choice(REVOKE) if number % 2 == 0 else None
                if step:
                    bench.shim.order(step, at=1)
                # A member that joins takes partitions away; with three there, the worker gets some back first.
                if len(group.members) == 3 or group.members and not step and chance.random() < 0.5:
                    leave(group.members.pop(chance.randrange(len(group.members))))
                    # The broker takes three seconds for each step of a rebalance, and a kill needs something to revoke.
                    time.sleep(chance.uniform(1, 3) + (8 if step else 0))
                if len(group.members) < 3:
                    group.join(chance, number)
                reached = await_kill(bench, group.worker) if step else True
                if not step:
                    time.sleep(chance.uniform(0.3, 3))
                bench.shim.clear()
                if step and not reached:
                    # It may have come to the step in the last moment.
                    time.sleep(0.05)
                    reached = was_killed(group.worker)
                if group.worker.is_running:
                    bench.check_live(group.name)
                elif step and reached:
                    bench.check_dead(group.name if not bench.other_stores else None)
                    group.start()
                else:
                    raise Broken("I6", f"the worker ended with {group.worker.process.returncode}\n"
                                       + group.worker.end_of_log())
                report.cycle(reached)
        finally:
            group.leave_all()
        group.await_end(120)
        bench.finish(group.worker)
        report.worst(bench.worst)


def await_kill(bench, worker):
    """Waits for the kill at a step of the rebalance; one that never comes is no failure, but was not reached."""
    deadline = time.monotonic() + 15
    while worker.is_running and time.monotonic() < deadline:
        time.sleep(0.01)
    return was_killed(worker)


def was_killed(worker):
    return not worker.is_running and worker.process.returncode == -signal.SIGKILL


def static_round(report, options, sub, count):
    """The broker keeps a static member's partitions while it is away, so nobody waits for its session to end."""
    with Bench(options, sub, options.events or 8000, partitions=4) as bench:
        chance = random.Random(f"static/{sub}")
        settings = (*SLOW, "kafka.group.instance.id=one", "kafka.session.timeout.ms=45000")
        for _ in range(count):
            feed(bench, chance)
            began = time.monotonic()
            worker = ready_worker(bench, *settings)
            bench.note_worst("static member back after", time.monotonic() - began)
            bench.wait_position(worker, min(bench.total, bench.position() + chance.randrange(1, 1500)), 30)
            if chance.random() < 0.7:
                worker.kill()
            else:
                bench.end(worker)
            bench.check_dead("faults")
            report.cycle()
        bench.finish(bench.start(*settings))
        report.worst(bench.worst)


# --- long absences

SECONDS = [9, 20, 60, 120, 180]  # the first are of the first cycles


def absence(report, options, seed, cycles):
    """By turns the broker is away, and the worker stands still past its session and max.poll.interval.ms while another
    member has its partitions."""
    for sub, count in rounds(seed, cycles, 4):
        with report.round(sub), Bench(options, sub, options.events or 8000, partitions=2, kind="tansu") as bench:
            chance = random.Random(f"absence/{sub}")
            group = Group(bench, report, {}, "kafka.max.poll.interval.ms=10000")
            group.start()
            for cycle in range(count):
                feed(bench, chance)
                seconds = SECONDS[cycle // 2] if cycle < 4 and turn(sub) == 0 else chance.choice(SECONDS)
                if cycle % 2 == 0:
                    broker_away(bench, group.worker, seconds)
                else:
                    worker_away(bench, group, seconds, chance, cycle)
                bench.check_live(group.name)
                report.cycle()
            group.await_end(180)
            bench.finish(group.worker)
            report.worst(bench.worst)


def broker_away(bench, worker, seconds):
    bench.broker.suspend()
    watch = Watch(bench, worker)
    watch.last(seconds)
    bench.broker.resume()
    watch.check("broker away", expects_truth=True)
    watch.check_return()


def worker_away(bench, group, seconds, chance, cycle):
    group.worker.send(signal.SIGSTOP)
    group.join(chance, f"absence-{cycle}", consumer=True)
    try:
        time.sleep(seconds)
    finally:
        group.worker.send(signal.SIGCONT)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 5))  # both are members for a while
        group.leave_all()
    took = group.worker.wait_ready(True, RETURN_SECONDS)
    if took is not None:
        bench.note_worst("ready again after", took)
    elif not group.heal():
        raise Broken("I6", f"not ready {RETURN_SECONDS:.0f} s after it stood still for {seconds} s: "
                           f"{group.worker.get('/readyz')[1]}\n{group.worker.end_of_log()}")

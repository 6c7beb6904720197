"""Scenarios of a store for each partition, which processes of one group share out among them."""

import glob
import random
import shutil
import signal
import time

from .checks import Broken
from .kills import rounds, turn
from .lives import stop_at
from .members import REVOKE, was_killed
from .outages import RETURN_SECONDS, TRUTH_SECONDS
from .partitioned import ServersBench, StoresBench
from .worker import FAILED_CHECK

# To take a partition is to take the lease of its store, to give it up is to save, to commit offsets and to let go.
STEPS = ["lease-take", *REVOKE, "log-first-frame", "log-before-commit-frame", "log-after-commit-frame",
         "offsets-before-commit", "offsets-after-commit", "notification-before-send", "notification-after-send",
         "cursor-before-save", "cursor-after-save"]
ROUND = 2 * len(STEPS)
STOPS = ["offsets-before-commit", "offsets-after-commit", "notification-before-send", "notification-after-send",
         "cursor-before-save", "cursor-after-save", "log-first-frame"]


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
            report.add(f"{bench.strategy} rounds", 1)


def one_kill(bench, chance, step):
    """Kills a process, or two, and starts them again; tells whether one came to the step."""
    victims = chance.sample(range(bench.count), 1 if step or chance.random() < 0.7 else 2)
    if step:
        reached = kill_at(bench, chance, victims[0], step)
    else:
        bench.await_progress(chance.randrange(1, 600))
        time.sleep(chance.random())
        reached = True
    for number in victims:
        bench.members[number].kill()
        bench.shims[number].clear()
    bench.check_live()
    for number in victims:
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
    victim, deadline = bench.members[number], time.monotonic() + 20
    while victim.is_running and time.monotonic() < deadline:
        if bench.total - bench.position() < 300:
            bench.produce(600)
        time.sleep(0.05)
    if not victim.is_running and not was_killed(victim):
        raise Broken("I6", f"a process ended with {victim.process.returncode}:\n{victim.end_of_log(3000)}")
    return not victim.is_running


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
            report.add(f"{bench.strategy} rounds", 1)


def one_stop(bench, chance, meddle=None):
    """Returns whether all of the process's stores were taken over. One in whose commit it stands still has the lock of
    the file, and then nobody can."""
    await_shares(bench)
    bench.feed(chance)
    bench.await_progress(chance.randrange(1, 300))
    number = chance.randrange(bench.count)
    first = bench.members[number]
    stop(bench, chance, number)
    former = bench.states(bench.held_by(first))
    bench.produce(chance.randrange(3000, 6000))
    taken = await_takeover(bench, first, former)
    time.sleep(chance.choice([0, 2 * chance.random()]))
    if meddle or chance.random() < 0.6:
        go_on_alone(bench, first, taken, lambda: meddle and meddle(bench, former))
    else:
        first.send(signal.SIGCONT)
    await_shares(bench)
    bench.check_live()
    return len(taken) == len(former)


def stop(bench, chance, number):
    """Stops a process at any moment, or at a step."""
    if chance.random() < 0.5:
        bench.shims[number].order(chance.choice(STOPS), at=chance.randrange(1, 4), manner="stop")
    stop_at(bench.members[number], 3.0 if bench.shims[number].is_armed else chance.random())
    bench.shims[number].clear()


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


def go_on_alone(bench, first, taken, meddle):
    """Lets the process go on while the others stand still, so that what changes in the stores is its work (I7)."""
    others = [worker for worker in bench.members if worker is not first]
    for worker in others:
        worker.send(signal.SIGSTOP)
    try:
        bench.await_that(lambda: all(map(is_stopped, others)), "all threads of the others have stopped", 10)
        meddle()
        before = bench.states(taken)
        end = time.monotonic() + 1.5
        first.send(signal.SIGCONT)
        while time.monotonic() < end:
            check_unwritten(bench, before)
            time.sleep(0.05)
    finally:
        for worker in others:
            worker.send(signal.SIGCONT)


def is_stopped(worker):
    """Whether all threads have stopped: one may end its call first."""
    return all(state_of(path) == "T" for path in glob.glob(f"/proc/{worker.pid}/task/*/stat"))


def state_of(path):
    """The state of a thread; None where it has ended."""
    try:
        with open(path) as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def check_unwritten(bench, before):
    """A store whose lease another process holds, which stands still, has no writer."""
    for partition, former in before.items():
        state = bench.state(partition)
        if state != former and time.time() < former["expires"]:
            raise Broken("I7", f"store {partition} was written by a process that had lost it: {former}, then {state}")


# --- processes that come and go


def stores_storm(report, options, seed, cycles):
    """Processes end at SIGTERM and start again all the time, so that partitions move and move."""
    for sub, count in rounds(seed, cycles, 24):
        with report.round(sub), StoresBench(options, sub, options.events or 6000) as bench:
            chance = random.Random(f"storm/{sub}")
            bench.start_all()
            for _ in range(count):
                bench.feed(chance)
                one_departure(bench, chance)
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)
            report.add(f"{bench.strategy} rounds", 1)


def one_departure(bench, chance):
    number = chance.randrange(bench.count)
    time.sleep(chance.choice([0, 4 * chance.random()]))
    bench.end_member(number)
    time.sleep(chance.choice([0, 2 * chance.random()]))
    bench.start_member(number)
    bench.check_live()


# --- a topic that every store reads


def stores_broadcast(report, options, seed, cycles):
    """kill -9 while all stores are behind in a broadcast topic, which then is made anew, or goes back. The broker does not
    give up killed members, so each life has a group of its own, and notifications are not looked at."""
    for sub, _ in rounds(seed, cycles, 1):
        with report.round(sub), StoresBench(
                options, sub, options.events or 1200, processes=1, partitions=4, kind="noida", broadcast="members") as bench:
            chance = random.Random(f"broadcast/{sub}")
            prepare = [make_anew, go_back][turn(sub) % 2]
            bench.produce_broadcast(1500)
            lose = prepare(bench, chance)
            read_with_kills(bench, chance)
            new = lose()
            lost = note_lost(bench, new, is_anew=prepare is make_anew)
            report.add("positions lost", len(lost))
            await_told(bench, {partition for partition, _ in lost})
            go_on(bench, new, lost)
            report.cycle()
            report.worst(bench.worst)
            report.add(f"{bench.strategy} rounds", 1)


QUIET = ("notifications.topic=null",)


def read_with_kills(bench, chance):
    """Leaves stores that are behind, or in some rounds have read everything."""
    for number in range(3):
        bench.start_member(0, *QUIET, group=f"life-{number}")
        bench.await_progress(chance.randrange(1, 2000))
        bench.members[0].kill()
        bench.check_live(f"life-{number}")
    if chance.random() < 0.5:
        bench.start_member(0, *QUIET, group="whole")
        bench.finish_all(notifications=False)


def make_anew(bench, chance):
    """Returns how to make the broadcast topic anew, with fewer records; that returns its logs."""
    def lose():
        bench.broker.wire.delete_topic(bench.broadcast)
        bench.create_broadcast()
        bench.append_broadcast(chance.randrange(2, 500))
        return bench.read_broadcast()
    return lose


def go_back(bench, chance):
    """Returns how to bring the broker back with the data that it has now; that returns the broadcast topic's logs."""
    bench.wait_kept()
    bench.broker.wait_kept(bench.broadcast, {partition: len(log) for (_, partition), log in bench.read_broadcast().items()})
    former = bench.broker.data + "-former"
    shutil.copytree(bench.broker.data, former)
    bench.produce_broadcast(chance.randrange(100, 2000))

    def lose():
        bench.broker.kill()
        bench.broker.data = former
        bench.broker.start()
        return bench.read_broadcast()
    return lose


def note_lost(bench, new, is_anew):
    """Cuts each store's logs to the records that it can have by now, and returns the stores and places of lost
    positions."""
    lost = []
    for partition, expectation in bench.expectations.items():
        positions = bench.positions_of(partition)
        for place, log in new.items():
            position = positions.get(place, 0)
            is_lost = position > 0 if is_anew else position > len(log)
            expectation.logs[place][:] = expectation.logs[place][:position] if is_lost else log
            lost += [(partition, place)] if is_lost else []
    return lost


def await_told(bench, stores):
    """The stores whose position is lost have to tell so, and all go on with everything else."""
    bench.produce(400)
    worker = bench.start_member(0, *QUIET, group="after")
    wanted = {f"{partition}.partitions" for partition in stores}
    bench.await_that(lambda: failed_checks(worker) == wanted, f"only these checks fail: {sorted(wanted)}", RETURN_SECONDS)
    bench.note_worst("position told after", time.monotonic() - worker.started)
    bench.await_end()
    bench.end_member(0)
    bench.check_ends()


def go_on(bench, new, lost):
    """With a person's consent each of the stores reads the broadcast topic that there is, after the old one."""
    for partition, place in lost:
        expectation = bench.expectations[partition]
        former = dict(expectation.logs[place])
        for offset, value in new[place]:
            apply_again(expectation.oracle, place, offset, value, former)
        expectation.logs[place][:] = new[place]
        expectation.done[place] = len(new[place])
    bench.start_member(0, *QUIET, "kafka.onPositionLost=earliest", group="consent")
    bench.await_that(bench.is_at_ends, "the positions are the logs' ends", RETURN_SECONDS)
    bench.end_member(0)
    bench.check_dumps()


def apply_again(oracle, place, offset, value, former):
    """Applies a record; a dead letter of the very record that the former log had in its place counts once."""
    letters = oracle.dead_letters.setdefault(place, [])
    count = len(letters)
    oracle.apply(*place, offset, value)
    if len(letters) > count and former.get(offset) == value:
        letters[:] = [letter for letter in letters[:count] if letter[0] != offset] + letters[count:]


def failed_checks(worker):
    """The checks that fail; a server that does not answer is one, too."""
    status, body = worker.get("/readyz")
    return set(FAILED_CHECK.findall(body)) if status else {"answer"}


# --- two servers


def stores_postgres(report, options, seed, cycles):
    """One of two servers is away, each of which has half of the stores: the other half goes on."""
    for sub, count in rounds(seed, cycles, 6):
        with report.round(sub), ServersBench(options, sub, options.events or 4000) as bench:
            chance = random.Random(f"servers/{sub}")
            bench.start_all()
            bench.await_progress(500)
            for _ in range(count):
                bench.feed(chance)
                one_away(bench, chance)
                bench.check_live()
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)
            report.add(f"{bench.strategy} rounds", 1)


def one_away(bench, chance):
    number = chance.randrange(len(bench.servers))
    missing = [partition for partition in bench.logs if bench.server_number(partition) == number]
    others = [partition for partition in bench.logs if partition not in missing]
    bench.servers[number].crash()
    try:
        if chance.random() < 0.5:
            move(bench, chance.randrange(bench.count), missing)
        for _ in range(3):
            bench.produce(40 * len(bench.logs))
            await_truth(bench, missing)
            await_read(bench, others)
            time.sleep(chance.uniform(0, 3))
    finally:
        bench.servers[number].start()
    began = time.monotonic()
    bench.await_that(lambda: not failed_stores(bench), "all stores are ready", RETURN_SECONDS)
    bench.note_worst("ready again after", time.monotonic() - began)


def move(bench, number, missing):
    """Ends and starts a process, so that partitions move while their server is away."""
    bench.end_member(number)
    bench.await_start(bench.start_member(number))
    bench.await_that(lambda: failed_stores(bench) == set(missing), f"only the stores {missing} fail", RETURN_SECONDS)


def failed_stores(bench):
    """The stores that checks of the processes name; None stands for a process itself."""
    names = [name for worker in bench.members for name in failed_checks(worker)]
    return {int(name.split(".")[0]) if "." in name else None for name in names}


def await_truth(bench, missing):
    """Some process has to name each missing store, and no process another store (I6)."""
    began = time.monotonic()
    while time.monotonic() - began < TRUTH_SECONDS + 0.5:
        failed = failed_stores(bench)
        if failed == set(missing):
            return bench.note_worst("store named after", time.monotonic() - began)
        time.sleep(0.05)
    raise Broken("I6", f"the stores {missing} are away, and /readyz names {failed}")


def await_read(bench, others):
    """The other stores have to read on within the time (I6)."""
    began, ends = time.monotonic(), {partition: len(bench.logs[partition]) for partition in others}
    while time.monotonic() - began < TRUTH_SECONDS + 0.5:
        found = {partition: bench.positions_of(partition).get((bench.topic, partition), 0) for partition in others}
        if found == ends:
            return bench.note_worst("others read after", time.monotonic() - began)
        time.sleep(0.05)
    raise Broken("I6", f"a server is away, and the stores of the other are at {found} of {ends}\n"
                 + "\n".join(worker.end_of_log() for worker in bench.members))

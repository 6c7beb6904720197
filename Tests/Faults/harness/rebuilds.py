"""A store that is built anew beside the old one and takes its place: killed on the way, with and without a live worker."""

import os
import random
import sqlite3
import time

from .bench import Bench
from .checks import Broken
from .kills import rounds, small_commits
from .outages import ready_worker
from .stillness import Stillness

# The steps of the exchange, after each of which the program can be told to end as a crash does.
STEPS = ["taken", "closed", "begun", "detached", "exchanged", "kept"]


def rebuild(report, options, seed, cycles):
    """A cycle is a rebuild that is killed up to three times and then let through."""
    for sub, count in rounds(seed, cycles, 10):
        with report.round(sub), Bench(options, sub, options.events or 8_000) as bench:
            chance = random.Random(f"rebuild/{sub}")
            first = ready_worker(bench, group="first")
            bench.wait_position(first, bench.total, 60)
            bench.end(first)
            for cycle in range(count):
                report.cycle(one_rebuild(bench, chance, f"{cycle}"))
            # What was there before a rebuild is not told again: only the new store's own transactions are.
            bench.finish(group="last", notifications="none")
            report.worst(bench.worst)


def one_rebuild(bench, chance, cycle):
    """Returns whether a kill came within the exchange."""
    old = identity(bench.store)
    live = ready_worker(bench, group=f"live-{cycle}") if chance.random() < 0.4 else None
    is_within = False
    for number in range(chance.randrange(1, 4)):
        # The exchange waits for the live worker's end.
        step = chance.choice(STEPS) if live is None and chance.random() < 0.6 else None
        worker = start(bench, chance, f"{cycle}-{number}", step)
        if step is None:
            time.sleep(chance.random() * 2)
            worker.kill()
        elif worker.wait(60) != -9:
            raise Broken("I6", f"the rebuild did not come to the step {step}\n{worker.end_of_log()}")
        is_within |= step is not None
        check(bench, old, live)
        # The next start completes an exchange that was begun, and rebuilds no more.
        if identity(bench.store) not in (None, old) or os.path.exists(bench.store + ".swap"):
            break
        if live and chance.random() < 0.5:
            bench.produce(500)
    finish(bench, chance, cycle, old, live)
    return is_within


def finish(bench, chance, cycle, old, live):
    """Lets the rebuild through, or the worker that follows one whose store is in its place."""
    is_done = identity(bench.store) not in (None, old)
    last = bench.start(group=f"{cycle}-last") if is_done else start(bench, chance, f"{cycle}-last", None)
    if live:
        time.sleep(chance.random() * 2)
        bench.end(live)
    stillness = Stillness()
    while identity(bench.store) in (None, old):
        if not last.is_running or stillness.is_too_long():
            raise Broken("I6", f"the new store did not take the old one's place\n{last.end_of_log()}")
        time.sleep(0.02)
    bench.wait_position(last, bench.total, 60)
    if last.wait_ready(True, 20) is None:
        raise Broken("I6", f"not ready after the rebuild\n{last.end_of_log()}")
    if identity(bench.store + ".before-rebuild") != old:
        raise Broken("I2", "the old store is not kept beside the new one")
    for suffix in (".rebuild", ".swap"):
        if os.path.exists(bench.store + suffix):
            raise Broken("I2", f"the rebuild left a file {suffix} behind")
    bench.end(last)
    check(bench, old, None)
    # While it is there, a rebuild is taken for one that is done.
    os.remove(bench.store + ".before-rebuild")


def start(bench, chance, group, step):
    environment = {"INGEST_TEST_KILL_AT": step} if step else None
    return bench.start(*small_commits(chance), group=group, environment=environment, options=("--rebuild",))


def check(bench, old, live):
    """The file at the store's path is the old store or a whole new one that has what the old one had, or is not there
    for the moment of the exchange."""
    now = identity(bench.store)
    if now is None:
        return
    if now != old:
        bench.expectation.forget_history()
    if live:
        bench.expectation.check(bench.store)
    else:
        bench.check_dead()


def identity(path):
    """The store's own identity; None where there is no store."""
    if not os.path.exists(path):
        return None
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute("SELECT value FROM _metadata WHERE key = 'storeID'").fetchone()[0]
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()

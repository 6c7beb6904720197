"""Scenarios of readers: many on the store and on the feed, long ones too, beside the writer, its purge and checkpoints."""

import json
import os
import random
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time

from . import checks
from .bench import Bench, has_tables
from .checks import Broken
from .feeds import FeedReader, check_feed
from .kills import rounds
from .outages import ready_worker
from .pace import Pace
from .stillness import communicate

HARNESS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILLING = ("chunk.maxOperations=4", "commit.maxRows=1")  # a few records a commit fill the log soon
PURGED = "history: { keepDays: 0, purgeEveryMinutes: 1 }\n"  # the first purge begins with the worker
RELEASE_SECONDS = 45.0  # a wait in vain for slow readers puts the next one off for 30
SHORT_SECONDS = 1.4  # the writer waits longer, both for the readers there are and for those who came meanwhile
LOG_LIMIT = 300 << 20  # 262 MB, at which the writer waits for readers


def readers(report, options, seed, cycles):
    """16 readers of the store and 4 of the feed race writer, purge and checkpoints; then one pins a snapshot."""
    for sub, count in rounds(seed, cycles, 5):
        with report.round(sub), Bench(options, sub, options.events or 20_000, size=300, extra=PURGED) as bench:
            bench.expectation.keeps_history = False
            chance = random.Random(f"readers/{sub}")
            feeds = [FeedReader(lambda: bench.workers[-1].port, f"{sub}/{number}") for number in range(4)]
            for cycle in range(count):
                # Every tenth snapshot is pinned for minutes; the first of a round, which the quick set has, is not.
                pinned = 10 if cycle == 0 else chance.choice([3, 20, 60, 60, 300])
                one_race(report, bench, chance, cycle, pinned, feeds)
                report.cycle()
            bench.finish(group="last", notifications="purged")
            for feed in feeds:
                feed.stop()
            told = checks.changes_told(bench.broker.read(bench.changes)[0])
            report.add("transactions in the feed", sum(check_feed(feed, told) for feed in feeds))
            report.add("expired", sum(feed.expired for feed in feeds))
            report.worst(bench.worst)


def one_race(report, bench, chance, cycle, pinned, feeds):
    # Those of a later life are there before the worker, and see its purge.
    processes, found = start_readers(bench, chance) if has_tables_yet(bench) else [], []
    try:
        worker = ready_worker(bench, *FILLING, group=f"life-{cycle}")
        processes = processes or start_readers(bench, chance)
        for feed in feeds:
            if not feed.is_alive():
                feed.start()
        pace = Pace(bench, worker)
        report.figures["records/s"] = min(report.figures.get("records/s", 1 << 30), pace.run(8))
        with Pin(bench.store):
            pace.run(pinned)
            check_told(bench, worker)
        report.figures["log MB, pinned"] = max(report.figures.get("log MB, pinned", 0), log_size(bench.store) >> 20)
        for process in processes:
            process.send_signal(signal.SIGUSR1)  # from now on their snapshots are short
        if not begins_anew(bench, pace):
            processes, found = [], [stop_readers(process) for process in processes]
            begins_anew_without(report, bench, pace, max(each["longest_since"] for each in found))
        bench.note_worst("log restarts after", time.monotonic() - pace.began)
        bench.read_logs()
        bench.check_live(group=f"life-{cycle}")
    finally:
        found += [stop_readers(process) for process in processes]
    for each in found:
        report.add("snapshots", each["snapshots"])
        bench.note_worst("longest snapshot", each["longest"])
        check_seen(each)
    if chance.random() < 0.5:
        worker.kill()
    else:
        bench.end(worker)
    bench.check_dead(f"life-{cycle}")


def begins_anew(bench, pace):
    has_restarted = restarts(bench.store)
    pace.run(RELEASE_SECONDS, until=has_restarted)
    # The file becomes small again with the first commit that is written from its beginning.
    return has_restarted() or log_size(bench.store) <= LOG_LIMIT


def begins_anew_without(report, bench, pace, longest):
    """On a slow machine no reader is short; once all have gone, nothing may hold the log up."""
    megabytes = log_size(bench.store) >> 20
    if longest <= SHORT_SECONDS:
        raise Broken("I5", f"{RELEASE_SECONDS:.0f} s after its long reader is gone the write-ahead log has "
                           f"{megabytes} MB, and 16 readers of {longest:.1f} s do not let it begin anew")
    report.add("slow readers", 1)
    if not begins_anew(bench, pace):
        raise Broken("I5", f"{RELEASE_SECONDS:.0f} s after all readers have gone the write-ahead log has "
                           f"{log_size(bench.store) >> 20} MB, and does not begin anew")


def has_tables_yet(bench):
    return os.path.exists(bench.store) and has_tables(bench.store)


def start_readers(bench, chance):
    return [subprocess.Popen(
        [sys.executable, "-B", "-m", "harness.reader", bench.store, str(chance.randrange(1 << 30)), "8"],
        cwd=HARNESS, stdout=subprocess.PIPE) for _ in range(2)]


def stop_readers(process):
    process.send_signal(signal.SIGTERM)
    return json.loads(communicate(process))


def check_seen(found):
    if found["problems"]:
        raise Broken("I2", f"a reader saw: {found['problems'][:3]}")
    if not found["snapshots"]:
        raise Broken("I6", f"readers got no snapshot, {found['busy']} times the store was busy")


class Pin:
    """A reader that holds a snapshot."""

    def __init__(self, path):
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10, isolation_level=None)

    def __enter__(self):
        self.connection.execute("BEGIN")
        self.state = self.read()

    def __exit__(self, kind, *_):
        state = self.read()
        self.connection.close()
        if kind is None and state != self.state:
            raise Broken("I2", f"a pinned snapshot moved from {self.state} to {state}")

    def read(self):
        return self.connection.execute(
            "SELECT (SELECT total(nextOffset) FROM _position), (SELECT count(*) FROM Message), "
            "(SELECT max(token) FROM _history_transaction)").fetchone()


def log_size(store):
    try:
        return os.path.getsize(store + "-wal")
    except OSError:
        return 0


def log_sequence(store):
    """How often the log began anew, from its header."""
    with open(store + "-wal", "rb") as file:
        return struct.unpack(">I", file.read(16)[12:16])[0]


def restarts(store):
    """Tells when the log begins anew from now on."""
    before = log_sequence(store)
    return lambda: log_sequence(store) != before


def check_told(bench, worker):
    """An operator sees in /metrics what a pinned snapshot does to the log."""
    deadline = time.monotonic() + 30  # the worker looks every five seconds
    while True:
        # The metric before the file, which may have grown since.
        found = re.search(r"^ingest_wal_bytes (\S+)", worker.get("/metrics", 5)[1], re.M)
        size = log_size(bench.store)
        if found and float(found[1]) >= 0.5 * size:
            return
        if time.monotonic() > deadline:
            raise Broken("I6", f"the write-ahead log has {size} bytes, /metrics says {found and found[1]}")
        time.sleep(0.2)

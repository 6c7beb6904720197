"""Scenarios in which memory runs out within one library: each of its allocations in turn, in a short run."""

import glob
import os
import re
import time

from .bench import Bench
from .checks import Broken, Expectation
from .disks import DOCUMENTED
from .serverstore import SCHEMA, ServerBench
from .stillness import Stillness
from .sweeps import EVENTS, FileExpectation, Sweep, places

# Once, for a moment, and from then on.
TIMES = [1, 20, 1 << 40]
# Swift's traps and abort(): ends that no handler of the process has a part in.
ENDS = (-4, -5, -6)
CODE = re.compile(r"\[[a-z]+\.[a-z_]+\]")
JQ = "files: [{ match: '*.jsonl', format: json, routes: [{ jq: . }] }]\n"


class MemorySweep(Sweep):
    """A replay of a file, and the number of a library's allocations in it."""

    def __init__(self, bench, seed, count, library):
        self.library = library
        super().__init__(bench, seed, count)
        self.complete("before any fault")
        self.begin()
        bench.shim.deny(library)
        code, output = self.run()
        self.operations = bench.shim.allocations
        if code or not self.operations:
            raise RuntimeError(f"{library}: {self.operations} allocations, the replay ended with {code}: {output}")

    def deny(self, index, times):
        """Returns whether an allocation failed, and whether the process ended by a signal."""
        shim = self.bench.shim
        self.begin()
        shim.deny(self.library, index + 1, times)
        what = f"no memory for {times} allocations of {self.library} from {index} on"
        code, output = self.run()
        denied = shim.denied
        shim.clear()
        if code and code not in DOCUMENTED + ENDS:
            raise Broken("I6", f"{what}: the replay ended with {code}: {output}")
        if code == 70 or code in DOCUMENTED and self.library != "libjq" and not CODE.search(output):
            raise Broken("I6", f"{what}: the replay ended with {code} and without the code of an error: {output}")
        position = self.check()
        if not code and position != len(self.log):
            raise Broken("I6", f"{what}: the replay said that it is done, at {position} of {len(self.log)}")
        self.complete(what)
        return denied > 0, code in ENDS


class ServerSweep(MemorySweep):
    """A replay into a server."""

    def begin(self):
        self.bench.server.query("SET client_min_messages = error", f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        self.bench.expectation = FileExpectation(self.bench.model, self.topic, {0: self.log})

    def check(self):
        if not self.bench.server.number(f"SELECT count(*) FROM pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = '_lease'"):
            return 0
        return self.bench.check_live().get((self.topic, 0), 0)


def sweep_through(report, sweep, times, cycles):
    report.figures[f"{sweep.library} allocations"] = sweep.operations
    for index, each in places(sweep.operations, times, cycles):
        reached, is_end = sweep.deny(index, each)
        report.cycle(reached)
        report.add("ends by a signal", is_end)


def memory_sweep(report, options, seed, cycles):
    """Memory runs out in simdjson, libjq and SQLite while a file is replayed."""
    for library in ("simdjson", "libjq", "sqlite"):
        # A second end at one record is the record's fault, for the process of a jq program has a limit of memory.
        times = [1] if library == "libjq" else TIMES
        with report.round(seed), Bench(options, seed, 0, produce=False, extra=JQ if library == "libjq" else "") as bench:
            sweep_through(report, MemorySweep(bench, seed, options.events or EVENTS, library), times, max(1, cycles // 3))


def memory_postgres(report, options, seed, cycles):
    """Memory runs out in libpq while a file is replayed into a server."""
    with report.round(seed), ServerBench(options, seed, 0, partitions=1, produce=False) as bench:
        sweep_through(report, ServerSweep(bench, seed, options.events or EVENTS, "libpq"), TIMES, cycles)


# --- librdkafka, in a worker


def memory_broker(report, options, seed, cycles):
    """Memory runs out in librdkafka while a worker reads a topic into a new store, and notifies."""
    with report.round(seed), Bench(options, seed, options.events or 150) as bench:
        bench.shim.deny("librdkafka")
        life(bench, "count", "before any fault")
        count = bench.shim.allocations
        report.figures["librdkafka allocations"] = count
        for number, (index, times) in enumerate(places(count, TIMES, cycles)):
            begin(bench, number)
            bench.shim.deny("librdkafka", index + 1, times)
            code = life(bench, f"life-{number}", f"no memory for {times} allocations of librdkafka from {index} on")
            report.cycle(bench.shim.denied > 0)
            report.add("ends by a signal", code in ENDS)
            bench.shim.clear()
            bench.check_dead(f"life-{number}")
            bench.finish(group=f"last-{number}")


def begin(bench, number):
    """A new store, with a topic of its own for notifications."""
    for path in glob.glob(bench.store + "*"):
        os.remove(path)
    bench.expectation = Expectation(bench.model, bench.topic, bench.logs)
    bench.changes = f"changes-{number}"
    bench.broker.create(bench.changes, 1)
    bench.configure(bench.broker.address)


def life(bench, group, what):
    """Lets a worker read to the end, or end before; returns its exit code."""
    worker = bench.start(group=group, environment={"SWIFT_BACKTRACE": "enable=no"})  # a backtrace takes half a minute
    stillness, position = Stillness(limit_seconds=30), 0
    while worker.is_running and position < bench.total:
        position = bench.position() if os.path.exists(bench.store) else 0
        if stillness.is_too_long(position):
            raise Broken("I6", f"{what}: the worker neither reads nor ends: {worker.get('/readyz')}\n{worker.end_of_log()}")
        time.sleep(0.02)
    code, _ = worker.stop(20)
    if code not in (0, *DOCUMENTED, *ENDS):
        raise Broken("I6", f"{what}: the worker ended with {code}\n{worker.end_of_log()}")
    return code

"""Sweeps over one short run, a replay of a file into a new store: a fault at each of its operations, none left out."""

import glob
import os
import random
import subprocess

from . import canonical, checks, events
from .bench import Bench, has_tables
from .checks import Broken
from .disks import DOCUMENTED

EVENTS = 60


class FileExpectation(checks.Expectation):
    """The oracle of a file's records, which are counted from 1."""

    def advance(self, positions, may_go_back=False):
        super().advance(positions, may_go_back)
        for place, position in positions.items():
            self.oracle.positions[place] = position


class Sweep:
    """The short run, and what is done before and after each of its faults."""

    def __init__(self, bench, seed, count):
        self.bench = bench
        self.path = os.path.join(bench.folder, "events.jsonl")
        records = [each for each in events.Stream(seed, size=40).records(count) if each.strip()]
        with open(self.path, "wb") as file:
            file.write(b"\n".join(records) + b"\n")
        self.topic = f"file:{self.path}"
        self.log = [(number + 1, record) for number, record in enumerate(records)]
        before = bench.shim.count("any-operation")
        self.begin()
        code, output = self.run()
        if code:
            raise RuntimeError(f"the replay ended with {code} without any fault: {output}")
        self.operations = bench.shim.count("any-operation") - before

    def begin(self):
        for path in glob.glob(self.bench.store + "*"):
            os.remove(path)
        self.bench.expectation = FileExpectation(self.bench.model, self.topic, {0: self.log})

    def run(self):
        ended = subprocess.run(
            [self.bench.options.binary, "replay", self.path, "--allow-dead-letters", "--config", self.bench.config,
             "--set", "log.level=error",
             "--set", "chunk.maxOperations=7", "--set", "commit.maxRows=1"],
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no", **self.bench.shim.environment()}, capture_output=True, timeout=120)
        return ended.returncode, (ended.stdout + ended.stderr)[-800:].decode(errors="replace")

    def check(self):
        """Compares what the fault left; returns the position, 0 where there is no store yet."""
        copy = canonical.copy_store(self.bench.store, self.bench.folder)
        if not os.path.exists(copy) or not has_tables(copy):
            return 0
        return self.bench.expectation.check(copy).get((self.topic, 0), 0)

    def complete(self, what):
        """Runs it again, without a fault: it goes on to the end."""
        self.bench.shim.clear()
        code, output = self.run()
        if code:
            raise Broken("I2", f"{what}: the next run ended with {code}: {output}")
        if self.check() != len(self.log):
            raise Broken("I2", f"{what}: the next run ended at {self.check()} of {len(self.log)}")
        self.bench.expectation.check_dump(self.bench.options.binary, self.bench.config)


def places(operations, variants, cycles):
    """Each operation with each variant; of more than there are cycles for, some evenly spread."""
    every = [(index, variant) for index in range(operations) for variant in variants]
    if cycles >= len(every):
        return every
    return [every[number * len(every) // cycles] for number in range(cycles)]


def io_error_sweep(report, options, seed, cycles):
    """Every write, sync and truncation fails, by turns with EIO and ENOSPC, once and from then on."""
    with report.round(seed), Bench(options, seed, 0, produce=False) as bench:
        sweep = Sweep(bench, seed, options.events or EVENTS)
        report.figures["operations"] = sweep.operations
        for index, (error, times) in places(sweep.operations, [("EIO", 1), ("EIO", -1), ("ENOSPC", 1), ("ENOSPC", -1)], cycles):
            sweep.begin()
            failed = bench.shim.failed
            bench.shim.fail(error, ("write", "sync", "truncate"), ("log", "store"), skip=index, times=times)
            what = f"{error} at operation {index}, {'once' if times > 0 else 'for good'}"
            code, output = sweep.run()
            failed = bench.shim.failed - failed
            bench.shim.clear()
            if code and code not in DOCUMENTED:
                raise Broken("I6", f"{what}: the replay ended with {code}: {output}")
            position = sweep.check()
            if not code and position != len(sweep.log):
                raise Broken("I6", f"{what}: the replay said that it is done, at {position} of {len(sweep.log)}")
            sweep.complete(what)
            report.cycle(failed > 0)


def power_loss_sweep(report, options, seed, cycles):
    """The power goes at every operation: what was not synced is lost, lost in part, or garbled."""
    with report.round(seed), Bench(options, seed, 0, produce=False) as bench:
        sweep = Sweep(bench, seed, options.events or EVENTS)
        report.figures["operations"] = sweep.operations
        chance = random.Random(f"sweep/{seed}")
        for index, manner in places(sweep.operations, ["lose-all", "lose-some", "garble-some"], cycles):
            sweep.begin()
            bench.shim.order("any-operation", at=index + 1, manner=manner, seed=chance.randrange(1, 1 << 60))
            what = f"{manner} at operation {index}"
            code, output = sweep.run()
            bench.shim.clear()
            if code not in (0, -9):
                raise Broken("I6", f"{what}: the replay ended with {code}: {output}")
            sweep.check()
            sweep.complete(what)
            report.cycle(code == -9)

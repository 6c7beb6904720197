"""A scenario in which people ask the worker to write, while it reads and is killed."""

import itertools
import os
import random
import subprocess
import threading
import time

from .bench import Bench
from .checks import Broken
from .kills import rounds, small_commits
from .stillness import Stillness

# Letters that no decoder takes stay what they are, so the oracle need not know of the retries.
COMMANDS = [
    (["dead-letters", "retry", "--stage", "decode"], (0, 65)),
    (["dead-letters", "drop", "--code", "none"], (0,)),
    (["history", "cursors", "put", "operator", "0"], (0,)),
    (["history", "cursors", "remove", "operator"], (0, 65)),
    (["history", "purge", "--keep-days", "365"], (0,)),
    (["conflicts", "drop", "--through", "0"], (0,)),
]
# The worker was killed meanwhile, or the next one has the lease already and no socket yet.
PASSING = (69, 75)


class Operator(threading.Thread):
    """Runs one command after the other, until it is told to stop."""

    def __init__(self, bench):
        super().__init__(daemon=True)
        self.bench, self.failure, self.done = bench, None, 0
        self.stopping = threading.Event()

    def run(self):
        for arguments, codes in itertools.cycle(COMMANDS):
            if self.stopping.is_set():
                return
            ended = subprocess.run(
                [self.bench.options.binary, *arguments, "--config", self.bench.config], capture_output=True, text=True,
                cwd=os.path.dirname(self.bench.config), timeout=120)
            if ended.returncode in codes:
                self.done += 1
            elif ended.returncode not in PASSING:
                self.failure = f"{arguments} ended with {ended.returncode}: {ended.stderr[-1000:]}"
                return

    def wait(self, commands, seconds):
        """Waits until so many commands were carried out."""
        stillness = Stillness(limit_seconds=seconds)
        while self.done < commands and self.is_alive():
            if stillness.is_too_long(self.done):
                raise Broken("I6", f"{self.done} of {commands} commands were carried out, and none for {seconds} s")
            time.sleep(0.005)

    def end(self):
        self.stopping.set()
        self.join()
        if self.failure:
            raise Broken("I7", self.failure)
        return self.done


def operators(report, options, seed, cycles):
    for sub, count in rounds(seed, cycles):
        with report.round(sub), Bench(options, sub, options.events or 12_000) as bench:
            chance = random.Random(f"operators/{sub}")
            done = 0
            for cycle in range(count):
                worker = bench.start(*small_commits(chance), group=f"life-{cycle}")
                before = bench.position()
                step = 1 + chance.randrange(max(1, 2 * (bench.total - before) // (count - cycle)))
                bench.wait_position(worker, 1, 60)
                operator = Operator(bench)
                operator.start()
                bench.wait_position(worker, min(before + step, bench.total), 60)
                operator.wait(chance.randrange(1, 8), 60)
                time.sleep(chance.random() * 0.05)
                bench.measure(worker)
                worker.kill()
                # What it began when the worker was dead, it does itself.
                done += operator.end()
                bench.check_dead(f"life-{cycle}")
                report.cycle()
            bench.finish(group="last")
            report.worst({**bench.worst, "commands": done})

"""Keeps a worker busy while something goes on beside it, and looks that it does not stand still."""

import time

from .checks import Broken
from .stillness import Stillness

STALL_SECONDS = 8.0  # the worker waits for readers for 4.5 at most; time counts while it neither runs nor could
FEED = 4000  # records at a time


class Pace:
    """The log grows without being read back: `Bench.read_logs` has to follow before anything is compared."""

    def __init__(self, bench, worker):
        self.bench, self.worker = bench, worker
        self.total = bench.total
        self.began = time.monotonic()
        self.rate = 0

    def run(self, seconds, until=lambda: False, look=lambda: None):
        """Runs for a time, or until something is so; notes the records read in a second as `rate`."""
        first = before = self.bench.position()
        self.began = moved = time.monotonic()
        stillness = Stillness(self.worker.process.pid, STALL_SECONDS)
        while time.monotonic() - self.began < seconds and not until():
            now = self.bench.position()
            if self.total - now < FEED:
                for partition, stream in enumerate(self.bench.streams):
                    self.bench.broker.produce(
                        self.bench.topic, partition, stream.records(FEED // self.bench.partitions))
                self.total += FEED
                moved = time.monotonic()
            if now != before:
                before, moved = now, time.monotonic()
            self.bench.note_worst("stood still", time.monotonic() - moved)
            if not self.worker.is_running:
                raise Broken("I6", f"the worker ended with {self.worker.process.returncode}\n{self.worker.end_of_log()}")
            if stillness.is_too_long((now, self.total)):
                raise Broken("I6", f"the worker stands at {now} of {self.total} for {STALL_SECONDS} s\n"
                                   + self.worker.end_of_log())
            self.bench.memory = max(self.bench.memory, self.worker.memory())
            look()
            time.sleep(0.05)
        self.rate = int((self.bench.position() - first) / max(0.1, time.monotonic() - self.began))
        return self.rate

"""Keeps a worker busy while something goes on beside it, and looks that it does not stand still."""

import time

from .checks import Broken

STALL_SECONDS = 5.0
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
            stood = time.monotonic() - moved
            if stood > STALL_SECONDS and self.bench.position() != before:
                continue  # it was this process that stood still since it looked, not the worker
            self.bench.note_worst("stood still", stood)
            if not self.worker.is_running:
                raise Broken("I6", f"the worker ended with {self.worker.process.returncode}\n{self.worker.end_of_log()}")
            if stood > STALL_SECONDS:
                raise Broken("I6", f"the worker stands at {now} of {self.total} for {STALL_SECONDS} s\n"
                                   + self.worker.end_of_log())
            self.bench.memory = max(self.bench.memory, self.worker.memory())
            look()
            time.sleep(0.05)
        self.rate = int((self.bench.position() - first) / max(0.1, time.monotonic() - self.began))
        return self.rate

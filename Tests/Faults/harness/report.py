"""What a run did, and the table at its end."""

import contextlib
import sys
import time
import traceback

from .checks import Broken


class Skipped(Exception):
    """The machine does not allow this scenario; it is said so in the table, and is no success."""


class Report:
    """The counts of one scenario."""

    def __init__(self, scenario, seed, options, command):
        self.scenario, self.seed, self.options, self.command = scenario, seed, options, command
        self.cycles = self.reached = 0
        self.failures = []
        self.skipped = None
        self.figures = {}
        self.started = time.monotonic()
        self.deadline = None

    @contextlib.contextmanager
    def round(self, sub):
        """Runs a round; what breaks in it is noted with the command that runs it again."""
        before = self.cycles
        try:
            yield
        except Skipped as reason:
            self.skipped = str(reason)
        except Exception as error:
            invariant = error.invariant if isinstance(error, Broken) else "harness"
            self.failures.append((invariant, str(error)))
            count = self.cycles - before + 1
            print(f"\nFAILED {self.scenario} seed {sub}, cycle {count}: {error}", flush=True)
            if not isinstance(error, Broken):
                traceback.print_exc(file=sys.stdout)
            print(f"  again: {self.command(sub, count)}\n  kept: {self.options.kept}", flush=True)
        seconds = time.monotonic() - self.started
        print(f"  {self.scenario} seed {sub}: {self.cycles} cycles, {len(self.failures)} failures, {seconds:.0f} s",
              flush=True)

    def cycle(self, reached=True, count=1):
        self.cycles += count
        self.reached += count if reached else 0

    def worst(self, figures):
        for name, value in figures.items():
            self.figures[name] = max(self.figures.get(name, value), value)

    def add(self, name, value):
        self.figures[name] = self.figures.get(name, 0) + value

    def row(self):
        notes = [f"{name} {value:.2f} s" if isinstance(value, float) else f"{name} {value:,}"
                 for name, value in self.figures.items()]
        if self.cycles != self.reached:
            notes.insert(0, f"fault reached {self.reached}")
        if self.skipped:
            notes.insert(0, f"SKIPPED: {self.skipped}")
        return (self.scenario, str(self.cycles), str(len(self.failures)),
                f"{time.monotonic() - self.started:.0f}", ", ".join(notes))


def table(rows):
    heading = ("scenario", "cycles", "failures", "seconds", "notes")
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(5)]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths)] for row in [heading, *rows]]
    return "\n".join("  ".join(line).rstrip() for line in lines)

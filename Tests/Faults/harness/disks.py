"""Scenarios of the disk: full, failing, writing less than asked."""

import os
import random
import shutil
import subprocess
import time

from .bench import Bench
from .checks import Broken
from .kills import rounds
from .outages import RETURN_SECONDS, SLOW, TRUTH_SECONDS, feed, ready_worker
from .report import Skipped

DOCUMENTED = (65, 69, 70, 75)  # exit codes that tell of a store that cannot be used


class SmallDisk:
    """A memory file system of a few megabytes, which only root may mount."""

    def __init__(self, folder, megabytes):
        self.folder = os.path.join(folder, f"disk-{os.getpid()}")
        os.makedirs(self.folder, exist_ok=True)
        if os.geteuid() != 0 or shutil.which("mount") is None:
            raise Skipped("only root may mount the small disk")
        ended = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", self.folder],
                               capture_output=True)
        if ended.returncode:
            raise Skipped(f"mounting is not permitted: {ended.stderr.decode().strip()}")
        self.ballast = os.path.join(self.folder, "ballast")

    def fill(self, left_bytes):
        """Takes all but so many bytes; called again, also those that the store has given back since."""
        with open(self.ballast, "ab") as file:
            while True:
                status = os.statvfs(self.folder)
                more = status.f_bavail * status.f_frsize - left_bytes
                if more <= 0:
                    return
                try:
                    return os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, more)
                except OSError:
                    left_bytes += 1 << 16  # the worker took some meanwhile

    def empty(self):
        if os.path.exists(self.ballast):
            os.remove(self.ballast)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], capture_output=True)


def disk_full(report, options, seed, cycles):
    """The disk is full until space is freed: the worker waits, says so, and goes on."""
    for sub, count in rounds(seed, cycles, 10):
        with report.round(sub):
            disk = SmallDisk(options.folder, 300)
            try:
                with Bench(options, sub, options.events or 8000, store_folder=disk.folder) as bench:
                    chance = random.Random(f"full/{sub}")
                    worker = ready_worker(bench, *SLOW)
                    for _ in range(count):
                        left_bytes = chance.choice([0, 4096, 100_000, 1 << 20])
                        disk.fill(left_bytes)
                        bench.produce(6000)
                        # A checkpoint gives back the log beyond 64 MB.
                        wait_failing(bench, worker, "the disk was full", lambda: disk.fill(left_bytes))
                        time.sleep(chance.random() * 2)
                        disk.empty()
                        wait_return(bench, worker)
                        bench.check_live()
                        report.cycle()
                    bench.finish(worker)
                    report.worst(bench.worst)
            finally:
                disk.close()


def wait_failing(bench, worker, what, refill):
    """Waits until the worker says that it is not ready; standing still for five seconds it must have said so."""
    before, since = bench.position(), time.monotonic()
    last = before + 200_000
    while worker.is_running and worker.is_ready():
        now = bench.position()
        if now != before:
            before, since = now, time.monotonic()
        if now >= bench.total:
            bench.produce(3000)
            since = time.monotonic()
        if time.monotonic() - since > TRUTH_SECONDS + 0.5:
            raise Broken("I6", f"{what}, and /readyz said ready for {TRUTH_SECONDS} s\n{worker.end_of_log()}")
        if now > last:
            raise RuntimeError(f"{what}, and the worker never needed space")
        refill()
        time.sleep(0.05)
    bench.note_worst("not ready after", time.monotonic() - since)
    if not worker.is_running:
        raise Broken("I6", f"{what}, and the worker ended with {worker.process.returncode}\n{worker.end_of_log()}")


def wait_return(bench, worker):
    before = bench.position()
    began = time.monotonic()
    while bench.position() <= before and time.monotonic() - began < RETURN_SECONDS:
        time.sleep(0.05)
    took = time.monotonic() - began
    if bench.position() <= before or worker.wait_ready(True, RETURN_SECONDS) is None:
        raise Broken("I6", f"still standing {took:.0f} s after the fault's end\n{worker.end_of_log()}")
    bench.note_worst("goes on after", took)


def sync_error(report, options, seed, cycles):
    """Syncs of a checkpoint fail for good, which no commit notices by itself."""
    def give(shim, chance):
        shim.fail("EIO", ("sync",), ("log", "store"), skip=chance.randrange(3))
        return "EIO on sync for good"
    io_error(report, options, seed, cycles, give)


def io_error(report, options, seed, cycles, order=None):
    """Calls on the store's files fail, once, for a while or for good; or write half."""
    order = order or any_order
    for sub, count in rounds(seed, cycles, 20):
        with report.round(sub), Bench(options, sub, options.events or 20_000) as bench:
            chance = random.Random(f"io/{sub}")
            for cycle in range(count):
                if bench.total - bench.position() < 3000:
                    bench.produce(10_000)
                before = bench.shim.failed
                if chance.random() < 0.2:
                    what = order(bench.shim, chance)  # from the start, recovery included
                    worker = bench.start(*SLOW, group=f"life-{cycle}")
                else:
                    worker = ready_worker(bench, *SLOW, group=f"life-{cycle}")
                    what = order(bench.shim, chance)
                persists = "for good" in what
                time.sleep(7 if persists else chance.uniform(0.3, 2))
                failed = bench.shim.failed - before
                # The call that failed may have been the last moment's.
                if persists and failed and worker.is_running \
                        and worker.wait_ready(False, TRUTH_SECONDS + 0.5) is None:
                    raise Broken("I6", f"{what}, {failed} calls failed, and /readyz says ready\n{worker.end_of_log()}")
                bench.shim.clear()
                settle(bench, worker, what, cycle)
                report.cycle(failed > 0)
            bench.finish(group="last")
            report.worst(bench.worst)


def any_order(shim, chance):
    """Gives the shim an order, and returns it in words. Syncs that fail for good have a scenario of their own."""
    error = chance.choice(["EIO", "EIO", "ENOSPC"])
    times = chance.choice([1, 1, 3, -1])
    skip = chance.choice([0, chance.randrange(300), chance.randrange(3000)])
    kind = chance.choice(["write", "write", "write", "sync", "read", "short"])
    files = chance.choice([("log",), ("store",), ("log", "store")])
    if kind == "write":
        files = ("log",) if chance.random() < 0.8 else files
        # A full disk has no room for the log either. With room for the log, a checkpoint may fail: no commit is at risk.
        if error == "ENOSPC" and "store" in files:
            files = ("log", "store")
    if kind == "sync" and times < 0:
        times = 2
    if kind == "short":
        shim.shorten(("log",), skip=skip, times=times)
    else:
        shim.fail(error, (kind,), files, skip=skip, times=times)
    return f"{error} on {kind} of {'+'.join(files)} after {skip}, {'for good' if times < 0 else f'{times} times'}"


def settle(bench, worker, what, cycle):
    """After the error the worker goes on, or has ended with a code that tells to start it again."""
    if worker.is_running and worker.wait_ready(True, 20) is not None and alive(bench, worker):
        worker.kill()
    elif worker.is_running:
        raise Broken("I6", f"after {what} the worker neither works nor ends: {worker.get('/readyz')}\n"
                           + worker.end_of_log())
    elif worker.process.returncode not in DOCUMENTED:
        raise Broken("I6", f"after {what} the worker ended with {worker.process.returncode}\n{worker.end_of_log()}")
    bench.check_dead(f"life-{cycle}")


def alive(bench, worker):
    """Whether the store moves, or has nothing to move for."""
    before, began = bench.position(), time.monotonic()
    while time.monotonic() - began < 20 and worker.is_running:
        if bench.position() > before or bench.position() >= bench.total:
            return True
        time.sleep(0.05)
    return False

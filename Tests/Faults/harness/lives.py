"""Scenarios of processes: a zombie and its successor, the clock, the shutdown, streams in bad order, a large store."""

import os
import random
import signal
import subprocess
import time

from . import canonical, checks, events, model
from .bench import Bench
from .checks import Broken
from .kills import NAMED, rounds, small_commits
from .oracle import Oracle
from .outages import RETURN_SECONDS, SLOW, ready_worker
from .proxy import Proxy

LEASE = ("lease.ttlSeconds=2",)


def zombie(report, options, seed, cycles):
    """A worker stands still past its lease's end, another takes the store over, and the first one comes back."""
    for sub, count in rounds(seed, cycles, 10):
        with report.round(sub), Bench(options, sub, options.events or 30_000) as bench:
            chance = random.Random(f"zombie/{sub}")
            for cycle in range(count):
                if bench.total - bench.position() < 5000:
                    bench.produce(15_000)
                report.cycle(one_zombie(bench, chance, cycle))
            bench.finish(group="last")
            report.worst(bench.worst)


def one_zombie(bench, chance, cycle, meddle=None):
    """Returns whether the store was taken over; a worker that stands still within a commit holds the file's lock, and
    then nobody can."""
    first = ready_worker(bench, *SLOW, *LEASE, group=f"first-{cycle}")
    moment = chance.choice(["idle", "idle", "between commits", "between commits", "anywhere", "within a commit"])
    if moment == "idle":
        bench.wait_position(first, bench.total, 60)
    elif moment == "between commits":
        bench.shim.order("offsets-before-commit", at=chance.randrange(1, 3), manner="stop")
    elif moment == "within a commit":
        bench.shim.order(chance.choice(NAMED[:6]), at=chance.randrange(1, 20), manner="stop")
    stop_at(first, 3.0 if bench.shim.is_armed else chance.random())
    time.sleep(2.5)
    bench.shim.clear()
    if moment == "idle":
        bench.produce(5000)  # what the first one would write, if it could
    second = bench.start(*SLOW, *LEASE, group=f"second-{cycle}")
    took_over = second.wait_ready(True, 20) is not None
    if not took_over and second.is_running:
        raise Broken("I6", f"the second worker is neither ready nor ended\n{second.end_of_log()}")
    if not took_over and second.process.returncode not in (69, 75):
        raise Broken("I7", f"the second worker ended with {second.process.returncode}\n{second.end_of_log()}")
    epoch = lease_epoch(bench.store)
    if meddle:
        meddle(bench)
    first.send(signal.SIGCONT)
    if took_over:
        check_fenced(bench, first, second, epoch)
        second.kill()
    else:
        time.sleep(0.5)
        if not first.is_running:
            raise Broken("I7", f"nobody took over, and the first worker ended with {first.process.returncode}\n"
                               + first.end_of_log())
        first.kill()
    bench.check_dead()
    return took_over


def check_fenced(bench, first, second, epoch):
    code = first.wait(10)
    if code != 75:
        raise Broken("I7", f"the fenced worker ended with {code}, not 75\n{first.end_of_log()}")
    if lease_epoch(bench.store) != epoch:
        raise Broken("I7", "the fenced worker took the lease back")
    if not second.is_running:
        raise Broken("I7", f"the worker that took over ended with {second.process.returncode}\n{second.end_of_log()}")
    bench.check_live()


def stop_at(worker, seconds):
    """Stops the process after a time, unless the shim does so before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with open(f"/proc/{worker.pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "T":
                return
        time.sleep(0.01)
    worker.send(signal.SIGSTOP)


def lease_epoch(path):
    with canonical.StoreFile(path, model.CHAT) as store:
        return store.value("SELECT epoch FROM _lease")


# --- the clock

DAY = 86_400


def clocks():
    """Shifts in seconds: small ones, an hour, 30 days, to the year 2000, and to just before 2038's 32 bits end."""
    now = int(time.time())
    return [0, 1, -1, 3600, -3600, 30 * DAY, -30 * DAY, 946_684_800 - now, (1 << 31) - 3 - now]


def clock(report, options, seed, cycles):
    """The program's clock jumps between and within lives."""
    for sub, count in rounds(seed, cycles, 20):
        # A clock far ahead would purge the history that is compared at the end.
        extra = "history: { keepDays: 36000 }\n"
        with report.round(sub), Bench(options, sub, options.events or 20_000, extra=extra) as bench:
            chance = random.Random(f"clock/{sub}")
            for cycle in range(count):
                one_clock(bench, chance, cycle)
                report.cycle()
            bench.shim.set_clock(0)
            check_tokens(bench)
            bench.finish(group="last")
            report.worst(bench.worst)


def one_clock(bench, chance, cycle):
    if bench.total - bench.position() < 2000:
        bench.produce(10_000)
    bench.shim.set_clock(chance.choice(clocks()))
    group = f"life-{cycle}"
    worker = ready_worker(bench, *SLOW, group=group)
    for _ in range(chance.randrange(0, 3)):
        bench.shim.set_clock(chance.choice(clocks()))
        before = bench.position()
        bench.wait_position(worker, min(bench.total, before + chance.randrange(1, 500)), 30)
    if worker.wait_ready(True, RETURN_SECONDS) is None:
        raise Broken("I6", f"not ready after the clock jumped: {worker.get('/readyz')[1]}\n{worker.end_of_log()}")
    if chance.random() < 0.7:
        worker.kill()
    else:
        bench.end(worker)
    bench.check_dead(group)


def check_tokens(bench):
    with canonical.StoreFile(bench.store, bench.model) as store:
        sources = [source for source, in store.rows(
            "SELECT source FROM _history_transaction WHERE source IS NOT NULL ORDER BY token")]
    offsets = [int(source.rpartition("@")[2]) for source in sources]
    if offsets != sorted(offsets):
        raise Broken("I4", "the tokens are not in the order of the log")


# --- the end

FAULTS = ["starting", "busy", "idle", "broker stopped", "broker dead", "network held", "network cut", "disk full",
          "disk failing"]


def shutdown(report, options, seed, cycles):
    """SIGTERM under each fault: gone within ten seconds."""
    for sub, count in rounds(seed, cycles, len(FAULTS)):
        with report.round(sub), Bench(options, sub, options.events or 20_000) as bench:
            chance = random.Random(f"shutdown/{sub}")
            bench.wait_kept()
            proxy = Proxy(bench.broker.port)
            bench.shim.redirect = (bench.broker.port, proxy.port)
            try:
                for cycle in range(count):
                    one_shutdown(bench, proxy, chance, FAULTS[cycle % len(FAULTS)], cycle)
                    report.cycle()
                bench.shim.redirect = None
                bench.finish(group="last", notifications="some")
            finally:
                proxy.close()
            report.worst(bench.worst)


def one_shutdown(bench, proxy, chance, fault, cycle):
    if fault != "idle" and bench.total - bench.position() < 3000:
        bench.produce(8000)
        bench.wait_kept()
    group = f"life-{cycle}"
    if fault == "starting":
        worker = bench.start(*SLOW, group=group)
        time.sleep(chance.random() * 0.6)
    else:
        # A broker that was killed in the life before may have lost notifications.
        worker = ready_worker(bench, *SLOW, group=group, but=["output"])
    if fault == "idle":
        bench.wait_position(worker, bench.total, 60)
    begin = {"broker stopped": bench.broker.suspend, "broker dead": bench.broker.kill,
             "network held": lambda: setattr(proxy, "mode", "hold"),
             "network cut": lambda: setattr(proxy, "mode", "reset"),
             "disk full": lambda: bench.shim.fail("ENOSPC", ("write",), ("log",)),
             "disk failing": lambda: bench.shim.fail("EIO", ("write", "sync"), ("log", "store"))}.get(fault)
    if begin:
        begin()
    time.sleep(chance.choice([0.0, 0.3, 3.0]) * chance.random())
    began = time.monotonic()
    code, took = worker.stop(20)
    bench.note_worst(f"shutdown {fault}", took)
    end = {"broker stopped": bench.broker.resume, "broker dead": bench.broker.start}.get(fault)
    if end:
        end()
    proxy.mode = "pass"
    bench.shim.clear()
    if code is None or time.monotonic() - began > 10.5 + 30 * (end is not None):
        raise Broken("I6", f"{fault}: SIGTERM took {took:.1f} s\n{worker.end_of_log()}")
    if took > 10.5:
        raise Broken("I6", f"{fault}: SIGTERM took {took:.1f} s\n{worker.end_of_log()}")
    allowed = (0, 69, 75) if fault.startswith("disk") else (0, -15, 69) if fault == "starting" else (0, 69)
    if code not in allowed:
        raise Broken("I6", f"{fault}: the worker ended with {code} after SIGTERM\n{worker.end_of_log()}")
    bench.check_dead()


# --- streams


def duplicate_reorder(report, options, seed, cycles):
    """Streams with many repeats and large windows, some through the broker, most from files; a cycle is a stream."""
    for number, (sub, _) in enumerate(rounds(seed, cycles, 1)):
        chance = random.Random(f"reorder/{sub}")
        count = options.events or (200_000 if cycles > 2 else 100_000)
        stream = dict(size=chance.choice([500, 5000, 40_000]), window=chance.choice([10, 1000, 100_000]),
                      duplicates=chance.uniform(0.1, 0.4), late=chance.uniform(0.05, 0.3), poison=0.004)
        with report.round(sub):
            if number % 5 == 0:
                with Bench(options, sub, min(count, 100_000), **stream) as bench:
                    bench.finish(seconds=300)
                    report.add("events through the broker", bench.total)
            else:
                report.add("events from files", from_file(options, sub, count, stream))
            report.cycle()


def from_file(options, sub, count, stream):
    """Replays a file, killed now and then, and compares the dump."""
    chance = random.Random(f"file/{sub}")
    with Bench(options, sub, 0, produce=False) as bench:
        records = [r for r in events.Stream(sub, **stream).records(count) if r.strip()]
        path = os.path.join(bench.folder, "events.jsonl")
        with open(path, "wb") as file:
            file.write(b"\n".join(records) + b"\n")
        command = [options.binary, "replay", path, "--allow-dead-letters", "--config", bench.config, "--set", "log.level=error"]
        for _ in range(chance.randrange(0, 3)):
            try:
                subprocess.run(command, timeout=chance.uniform(0.2, 3), capture_output=True)
            except subprocess.TimeoutExpired:
                pass  # killed by then
        ended = subprocess.run(command, capture_output=True, timeout=600)
        if ended.returncode:
            raise Broken("I2", f"replay ended with {ended.returncode}: {ended.stderr[-800:].decode(errors='replace')}")
        oracle = Oracle(bench.model)
        for number, value in enumerate(records):
            oracle.apply(f"file:{path}", 0, number + 1, value)
        oracle.positions[(f"file:{path}", 0)] = len(records)
        bench.expectation.oracle = oracle
        bench.expectation.check_dump(options.binary, bench.config)
        return len(records)


# --- a large store


def recovery(report, options, seed, cycles):
    """From kill -9 in full flow to ready, on a large store; a cycle is a kill."""
    with report.round(seed), Bench(options, seed, 0, produce=False) as bench:
        chance = random.Random(f"large/{seed}")
        fill(bench, options.events or 4_300_000)
        bench.produce(20_000)
        report.figures["store MB"] = os.path.getsize(bench.store) >> 20
        for cycle in range(cycles):
            if bench.total - bench.position() < 10_000:
                bench.produce(20_000)
            worker = bench.start(group=f"life-{cycle}")
            took = worker.wait_ready(True, 60)
            if took is None:
                raise Broken("I6", f"not ready after a minute\n{worker.end_of_log()}")
            if cycle:
                bench.note_worst("kill to ready", took)
            time.sleep(chance.random() * 2)
            worker.kill()
            report.cycle()
        report.worst(bench.worst)
        if bench.worst.get("kill to ready", 0) > 2.0:
            raise Broken("I6", f"from kill to ready it took {bench.worst['kill to ready']:.2f} s, more than 2 s")


def fill(bench, count):
    """Replays a file of objects that are all different."""
    path = os.path.join(bench.folder, "large.jsonl")
    stream = events.Stream(bench.seed, world="large-", size=3 * count, window=10, duplicates=0, late=0, poison=0)
    with open(path, "wb") as file:
        for _ in range(count):
            file.write(stream.record() + b"\n")
    subprocess.run([bench.options.binary, "replay", path, "--allow-dead-letters", "--config", bench.config, "--set", "log.level=error"],
                   check=True, capture_output=True, timeout=3000)
    os.remove(path)

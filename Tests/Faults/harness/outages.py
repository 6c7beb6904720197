"""Scenarios of the broker and the network: away, dead, slow; members that come and go; positions that are lost."""

import json
import os
import random
import re
import signal
import subprocess
import time

from . import checks
from .bench import Bench
from .checks import Broken
from .kills import rounds
from .proxy import MODES, Proxy
from .stillness import Stillness

TRUTH_SECONDS = 5.0  # within this time /readyz has to tell of a fault
RETURN_SECONDS = 30.0  # within this time after the fault's end it has to say ready again
SLOW = ("chunk.maxOperations=20", "commit.maxRows=20")


class Watch:
    """Looks at /readyz while a fault lasts, and at the processor time that the worker uses meanwhile."""

    def __init__(self, bench, worker):
        self.bench, self.worker = bench, worker
        self.began = time.monotonic()
        self.processor = processor_seconds(worker.pid)
        # When it was first seen that the worker is not ready, and when it was last asked before that.
        self.untrue, self.said_ready = None, 0.0

    def last(self, seconds):
        """Lets the fault last; notes how long the worker went on saying that it is ready."""
        while True:
            asked = time.monotonic() - self.began
            if self.untrue is None:
                if self.worker.is_ready():
                    self.said_ready = asked
                else:
                    self.untrue = time.monotonic() - self.began
            if asked >= seconds:
                return
            time.sleep(0.1)

    def check(self, what, expects_truth):
        seconds = time.monotonic() - self.began
        if self.untrue is not None:
            self.bench.note_worst("not ready after", self.untrue)
        # Where the harness itself stood still, it may have seen late what was said in time.
        if expects_truth and self.said_ready > TRUTH_SECONDS + 0.5:
            raise Broken("I6", f"{what} for {seconds:.1f} s, and /readyz said ready for "
                               f"{'all of it' if self.untrue is None else f'{self.said_ready:.1f} s'}")
        used = processor_seconds(self.worker.pid) - self.processor
        if expects_truth and used > 0.8 * seconds:
            raise Broken("I5", f"the worker spun: {used:.1f} s of processor time in {seconds:.1f} s of {what}")

    def check_return(self, but=()):
        took = self.worker.wait_ready(True, RETURN_SECONDS, but)
        if took is None:
            raise Broken("I6", f"not ready {RETURN_SECONDS} s after the fault: {self.worker.get('/readyz')[1]}\n"
                               + self.worker.end_of_log())
        self.bench.note_worst("ready again after", took)


def processor_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def ready_worker(bench, *settings, but=(), **options):
    worker = bench.start(*settings, **options)
    took = worker.wait_ready(True, RETURN_SECONDS, but)
    if took is None:
        raise Broken("I6", f"not ready {RETURN_SECONDS} s after the start: {worker.get('/readyz')[1]}\n"
                           + worker.end_of_log())
    return worker


def feed(bench, chance):
    """More records when the worker has few left."""
    if bench.total - bench.position() < 2000:
        bench.produce(chance.randrange(2000, 6000))


def broker_stop(report, options, seed, cycles):
    """The broker's process stands still for a while. It does not give up silent members by itself, so the session is
    longer than the fault."""
    for sub, count in rounds(seed, cycles, 20):
        with report.round(sub), Bench(options, sub, options.events or 8000) as bench:
            chance = random.Random(f"stop/{sub}")
            worker = ready_worker(bench, *SLOW, "kafka.session.timeout.ms=45000")
            for _ in range(count):
                feed(bench, chance)
                time.sleep(chance.random() * 0.5)
                seconds = chance.choice([0.3, 1.5, 3, 7])
                bench.broker.suspend()
                watch = Watch(bench, worker)
                watch.last(seconds)
                bench.broker.resume()
                watch.check("broker stopped", expects_truth=seconds > 6)
                watch.check_return()
                bench.check_live()
                report.cycle()
            bench.finish(worker)
            report.worst(bench.worst)


def broker_kill(report, options, seed, cycles):
    """The broker is killed and comes back with its data. It may lose what it acknowledged last, so notifications that
    it forgot are not asked for; its log of events is written a while before."""
    for sub, count in rounds(seed, cycles, 20):
        with report.round(sub), Bench(options, sub, options.events or 20_000) as bench:
            chance = random.Random(f"kill/{sub}")
            bench.wait_kept()
            worker = ready_worker(bench, *SLOW)
            for _ in range(count):
                if bench.total - bench.position() < 1000:
                    bench.wait_position(worker, bench.total, 60)
                    bench.produce(chance.randrange(5000, 10_000))
                    bench.wait_kept()
                time.sleep(chance.random())
                seconds = chance.choice([0.1, 0.5, 2, 6.5])
                bench.broker.kill()
                watch = Watch(bench, worker)
                watch.last(seconds)
                bench.broker.start()
                watch.check("broker dead", expects_truth=seconds > 6)
                # A loss of notifications shows until a minute after they were sent again.
                watch.check_return(but=["output"])
                bench.check_live()
                report.cycle()
            bench.finish(worker, notifications="some")
            report.worst(bench.worst)


def network(report, options, seed, cycles):
    """Schedules of what can happen on the way to the broker, a few one after the other in each. Tansu is the broker
    that gives up members that were silent for too long."""
    for sub, count in rounds(seed, cycles, 20):
        with report.round(sub), Bench(options, sub, options.events or 8000, kind="tansu") as bench:
            chance = random.Random(f"network/{sub}")
            proxy = Proxy(bench.broker.port)
            bench.shim.redirect = (bench.broker.port, proxy.port)
            try:
                worker = ready_worker(bench, *SLOW)
                if not proxy.accepted:
                    raise RuntimeError("the worker does not use the proxy")
                for _ in range(count):
                    feed(bench, chance)
                    one_schedule(bench, proxy, worker, chance)
                    report.cycle()
                bench.finish(worker)
            finally:
                proxy.close()
            report.worst(bench.worst)


def one_schedule(bench, proxy, worker, chance):
    for _ in range(chance.randrange(1, 4)):
        proxy.mode, proxy.delay = chance.choice(MODES), chance.uniform(0.02, 0.4)
        is_long = proxy.mode in ("hold", "refuse", "reset") and chance.random() < 0.15
        watch = Watch(bench, worker)
        watch.last(6.5 if is_long else chance.uniform(0.1, 1.5))
        mode, proxy.mode = proxy.mode, "pass"
        watch.check(f"network {mode}", expects_truth=is_long)
        time.sleep(chance.random() * 0.3)
    watch.check_return()
    bench.check_live()


# --- members


def rebalance_storm(report, options, seed, cycles):
    """Members join and leave every moment: consumers without a store, and workers of other stores. A second worker of
    the same store is refused."""
    for sub, count in rounds(seed, cycles, 25):
        with report.round(sub), Bench(options, sub, options.events or 12_000, partitions=4, kind="tansu") as bench:
            chance = random.Random(f"storm/{sub}")
            members = []
            try:
                worker = ready_worker(bench, *SLOW)
                for number in range(count):
                    feed(bench, chance)
                    if len(members) < 3 and (not members or chance.random() < 0.6):
                        members.append(join(bench, chance, number))
                    else:
                        leave(members.pop(chance.randrange(len(members))))
                    time.sleep(chance.uniform(0.3, 2.0))
                    if number % 8 == 7:
                        refuse_second(bench)
                    bench.check_live()
                    report.cycle()
            finally:
                for member in members:
                    leave(member)
            bench.finish(worker, seconds=120)
            report.worst(bench.worst)


# A member that reads and commits nothing.
CONSUMER = """
import json, signal, sys
from confluent_kafka import Consumer
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
consumer = Consumer({
    "bootstrap.servers": sys.argv[1], "group.id": "faults", "enable.auto.commit": False, "session.timeout.ms": 6000,
    "auto.offset.reset": "earliest", "log_level": 0, **json.loads(sys.argv[3])})
consumer.subscribe([sys.argv[2]])
try:
    while True:
        consumer.poll(0.1)
finally:
    consumer.close()
"""


def join(bench, chance, number, settings={}, consumer=False):
    """A new member with properties of librdkafka: a consumer, or a worker of another store."""
    if chance.random() < 0.3 and not consumer:
        folder = os.path.join(bench.folder, f"member-{number}")
        os.makedirs(folder)
        bench.other_stores.append(f"{folder}/other.sqlite")
        other = bench.start(f"store.path={folder}/other.sqlite", "notifications.topic=null",
                            *(f"kafka.{name}={value}" for name, value in settings.items()), shim=False)
        return other.process
    # Not kcat: it commits what it has read, though it is told not to.
    command = [os.path.join(bench.options.brokers, "bin/python3"), "-c", CONSUMER, bench.broker.address, bench.topic,
               json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def leave(member):
    member.send_signal(signal.SIGTERM)
    try:
        member.wait(15)
    except subprocess.TimeoutExpired:
        member.kill()
        member.wait()


def refuse_second(bench):
    second = bench.start()
    code = second.wait(60)
    if code != 69:
        raise Broken("I7", f"a second worker of the same store ended with {code}, not 69:\n{second.end_of_log()}")


# --- positions


def position_lost(report, options, seed, cycles):
    """The broker comes back with other data: the partition is halted, and the store stays as it is."""
    for sub, count in rounds(seed, cycles, 1):
        with report.round(sub), Bench(options, sub, options.events or 4000) as bench:
            chance = random.Random(f"lost/{sub}")
            worker = ready_worker(bench)
            bench.wait_position(worker, bench.total, 60)
            worker.kill()
            positions = bench.check_dead()
            lose(bench, chance)
            worker = bench.start(group="after")
            await_lost(bench, worker)
            if bench.check_live() != positions:
                raise Broken("I2", "the store's positions moved though its records are lost")
            bench.end(worker)
            go_on(bench)
            report.cycle(count=count)
            report.worst(bench.worst)


def await_lost(bench, worker):
    """Until the worker is a member of its group, or ready, it cannot know; from then on it has to tell in time."""
    started, joined = time.monotonic(), None
    while True:
        asked = time.monotonic()
        status, body = worker.get("/readyz")
        if status == 503 and "partitions" in body:
            bench.note_worst("position told after", time.monotonic() - (joined or time.monotonic()))
            return
        if joined is None and (status == 200 or (status == 503 and not re.search("startup|group|broker", body))):
            joined = time.monotonic()
        if asked - (joined or started) > (TRUTH_SECONDS if joined else RETURN_SECONDS):
            raise Broken("I6", f"the position is not on the broker any more, and /readyz says {status} {body}\n"
                               + worker.end_of_log())
        time.sleep(0.05)


def lose(bench, chance):
    """The topic is made anew, or the broker begins on an empty disk; there are fewer records than before."""
    if chance.random() < 0.5:
        bench.broker.wire.delete_topic(bench.topic)
    else:
        bench.broker.kill()
        bench.broker.data += "-other"
        bench.broker.start()
    bench.broker.create(bench.topic)
    bench.broker.create(bench.changes)
    bench.broker.produce(bench.topic, 0, bench.streams[0].records(chance.randrange(1, 500)))


def go_on(bench):
    """With a person's consent the worker reads what there is: after the old log, the new one."""
    old = bench.logs[0][:]
    bench.read_logs()
    new = bench.logs[0][:]
    worker = bench.start("kafka.onPositionLost=earliest", group="consent")
    stillness = Stillness(limit_seconds=30)
    while (stored := checks.positions_of(bench.store).get((bench.topic, 0))) != len(new):
        if stillness.is_too_long(stored):
            raise Broken("I6", f"with onPositionLost=earliest it stands at {bench.position()}, not {len(new)}\n"
                               + worker.end_of_log())
        time.sleep(0.05)
    worker.wait_ready(True, 20)
    bench.end(worker)
    bench.logs[0][:] = old
    bench.expectation.advance({(bench.topic, 0): len(old)})
    oracle = bench.expectation.oracle
    for offset, value in new:
        oracle.apply(bench.topic, 0, offset, value)
    bench.expectation.check_dump(bench.options.binary, bench.config)

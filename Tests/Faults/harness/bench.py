"""A store, a broker, a log and their oracle, for one round of a scenario."""

import os
import random
import shutil
import time

from . import canonical, checks, events, model
from .broker import Broker
from .checks import Broken
from .mock import MockBroker
from .shim import Shim, compiled
from .stillness import Stillness
from .worker import Worker, configuration


class Options:
    """What the command line says."""

    def __init__(self, binary, brokers, folder, root):
        self.binary, self.brokers, self.folder, self.root = binary, brokers, folder, root
        self.events = None
        self.other_binary = None  # of another version
        self.kept = None  # where the last failed round's files are


class Bench:
    """Everything of one round, in one folder, made from one seed."""

    def __init__(self, options, seed, count, partitions=1, kind="noida", name="round", size=800, produce=True,
                 store_folder=None, extra="", change_partitions=1, **stream):
        self.options, self.seed, self.partitions = options, seed, partitions
        self.random = random.Random(f"bench/{seed}")
        self.folder = os.path.join(options.folder, name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.topic, self.changes = "events", "changes"
        self.model = model.CHAT
        self.store = os.path.join(store_folder or self.folder, "store.sqlite")
        self.config = os.path.join(self.folder, "worker.yaml")
        self.shim = Shim(compiled(options.folder), self.folder, self.store)
        self.lives = 0
        self.workers = []
        self.other_stores = []  # of workers in the same group
        self.worst = {}
        self.memory = self.log_bytes = 0
        self.memory_limit = checks.MEMORY_MEGABYTES
        self.broker = MockBroker() if kind == "mock" else Broker(self.folder, options.brokers, kind)
        self.broker.create(self.topic, partitions)
        self.broker.create(self.changes, change_partitions)
        self.extra = extra
        self.configure(self.broker.address)
        self.streams = [events.Stream(seed, f"w{p}-" if partitions > 1 else "", size=size, **stream)
                        for p in range(partitions)]
        self.logs = {p: [] for p in range(partitions)}
        if produce and count:
            self.produce(count)
        self.expectation = checks.Expectation(self.model, self.topic, self.logs)

    def configure(self, address):
        configuration(
            self.config, f"path: {self.store}", os.path.join(self.options.root, "config/models/chat.yaml"), [self.topic], address,
            self.changes, self.extra)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for worker in self.workers:
            if worker.is_running:
                worker.kill()
        self.broker.kill()
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self.options.kept = os.path.join(self.options.folder, f"failed-{os.getpid()}-{self.seed}")
            shutil.rmtree(self.options.kept, ignore_errors=True)
            os.rename(self.folder, self.options.kept)

    def open_store(self):
        return canonical.StoreFile(self.store, self.model)

    # --- the log

    def produce(self, count):
        """Appends records to every partition, and keeps what the broker made of them."""
        for partition, stream in enumerate(self.streams):
            self.broker.produce(self.topic, partition, stream.records(max(1, count // self.partitions)))
        self.read_logs()

    def wait_kept(self):
        """Waits until a broker that is killed comes back with the whole log."""
        self.broker.wait_kept(self.topic, {partition: len(log) for partition, log in self.logs.items()})

    def read_logs(self):
        for partition, log in self.broker.read(self.topic, self.partitions).items():
            if [offset for offset, _ in log] != list(range(len(log))):
                raise RuntimeError("the broker's log has holes")
            self.logs[partition][:] = log

    @property
    def total(self):
        return sum(map(len, self.logs.values()))

    # --- the worker

    def start(self, *settings, group=None, environment=None, options=(), shim=True, binary=None):
        """A new life of the worker. The broker does not give a killed member's partitions away, so a life may have a
        group of its own: what counts is the store's position."""
        self.lives += 1
        if group is not None:
            settings += (f"kafka.group.id={group}",)
        worker = Worker(
            binary or self.options.binary, self.config, os.path.join(self.folder, f"worker-{self.lives}.log"),
            {**self.broker.client_environment, **(self.shim.environment() if shim else {}), **(environment or {})}, settings, options)
        self.workers.append(worker)
        return worker

    def positions_of_group(self):
        """How far the furthest store of the group is in each partition: whoever holds one commits what its store has."""
        furthest = {}
        for store in [self.store] + self.other_stores:
            for place, offset in checks.positions_of(store, patience_seconds=10).items():
                furthest[place] = max(offset, furthest.get(place, 0))
        return furthest

    def position(self):
        return sum(checks.positions_of(self.store).values())

    def measure(self, worker):
        self.memory = max(self.memory, worker.memory())
        try:
            self.log_bytes = max(self.log_bytes, os.path.getsize(self.store + "-wal"))
        except OSError:
            pass

    def wait_position(self, worker, wanted, seconds):
        """Waits until the store is so far; returns False when the worker ended before."""
        stillness = Stillness(limit_seconds=seconds)
        while (position := self.position()) < wanted:
            if not worker.is_running:
                return False
            if stillness.is_too_long(position):
                raise Broken("I6", f"the worker stands at {self.position()} of {wanted} for {seconds} s; its log "
                                   f"ends:\n{worker.end_of_log()}")
            time.sleep(0.01)
        self.measure(worker)
        return True

    def note_worst(self, name, seconds):
        self.worst[name] = max(self.worst.get(name, 0.0), seconds)

    # --- checks

    def check_dead(self, group=None, may_go_back=False):
        """Checks a store that no process has open, on a copy."""
        if not os.path.exists(self.store):
            return {}
        copy = canonical.copy_store(self.store, self.folder)
        if not has_tables(copy):
            return {}
        positions = self.expectation.check(copy, may_go_back)
        if group:
            checks.check_committed(self.broker, group, self.topic, self.partitions, lambda: positions)
        return positions

    def check_live(self, group="faults"):
        checks.check_committed(self.broker, group, self.topic, self.partitions, self.positions_of_group)
        return self.expectation.check(self.store)

    def finish(self, worker=None, seconds=180, notifications="all", group="last", restarts=True):
        """Lets a worker read the rest, ends it, and checks everything there is to check."""
        worker = worker or self.start(group=group)
        if not self.wait_position(worker, self.total, seconds):
            raise Broken("I6", f"the worker ended with {worker.process.returncode}:\n{worker.end_of_log()}")
        self.wait_notified(worker, 30)
        worker.wait_ready(True, 20)
        self.end(worker)
        positions = self.check_dead(None)
        if positions != self.expectation.end:
            raise Broken("I2", f"the positions are {positions}, the log's ends {self.expectation.end}")
        self.expectation.check_dump(self.options.binary, self.config)
        if notifications != "none":
            log = self.broker.read(self.changes)[0]
            with self.open_store() as store:
                checks.check_notifications(log, store, self.told_losses() if notifications == "some" else None,
                                           is_purged=notifications == "purged")
            if notifications in ("all", "purged"):
                checks.check_told_objects(checks.changes_told(log), self.expectation.oracle.tables)
        self.worst["memory MB"], self.worst["log MB"] = self.memory, self.log_bytes >> 20
        checks.check_bounds(self.memory, self.log_bytes, self.memory_limit)
        return positions

    def told_losses(self):
        """How often a worker has said that the broker lost notifications."""
        return sum(worker.output().count(b"error the broker lost notifications") for worker in self.workers)

    def wait_notified(self, worker, seconds):
        stillness, cursor = Stillness(limit_seconds=seconds), 0
        while not stillness.is_too_long(cursor) and worker.is_running:
            with self.open_store() as store:
                last = store.value("SELECT max(token) FROM _history_transaction") or 0
                cursor = store.value("SELECT max(token) FROM _cursor") or 0
            if cursor >= last:
                return
            time.sleep(0.05)

    def end(self, worker, seconds=10, codes=(0,)):
        """SIGTERM: the worker has to be gone within the time, with one of the codes."""
        code, took = worker.stop(seconds)
        self.note_worst("shutdown", took)
        if code is None:
            raise Broken("I6", f"the worker did not end within {seconds} s of SIGTERM:\n{worker.end_of_log()}")
        if code not in codes:
            raise Broken("I6", f"the worker ended with {code} after SIGTERM:\n{worker.end_of_log()}")


def has_tables(path):
    """Tells whether a store got as far as having its tables."""
    import sqlite3
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        found = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = '_lease'").fetchone()[0]
        connection.close()
        return found > 0
    except sqlite3.OperationalError:
        return False

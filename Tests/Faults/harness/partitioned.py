"""A store for each partition, written by processes of one group, for one round of a scenario."""

import json
import os
import re
import time

from . import canonical, checks
from .bench import Bench, has_tables
from .checks import Broken, Expectation
from .shim import Shim, compiled
from .stillness import Stillness
from .worker import configuration

# Small commits, and leases that end soon.
SETTINGS = ("chunk.maxOperations=20", "commit.maxRows=20", "lease.ttlSeconds=4")
PROGRESS_SECONDS = 60
HOLDER = re.compile(r"process (\d+)")


class StoresBench(Bench):
    """Processes of one group with a store for each partition; `broadcast` names a topic that every store reads whole."""

    def __init__(self, options, seed, count, processes=3, partitions=12, kind="mock", broadcast=None, **stream):
        self.count, self.broadcast = processes, broadcast
        self.broadcast_log = []
        self.members = []
        self.told = []  # all notifications, for the mock cluster drops the oldest
        super().__init__(options, seed, count, partitions=partitions, kind=kind, **{"size": 200, **stream})
        others = {(broadcast, 0): self.broadcast_log} if broadcast else {}
        self.expectations = {partition: Expectation(self.model, self.topic, {partition: log}, others)
                             for partition, log in self.logs.items()}
        self.shims = []
        for number in range(processes):
            folder = os.path.join(self.folder, f"process-{number}")
            os.makedirs(folder)
            self.shims.append(Shim(compiled(options.folder), folder, self.path(number)))

    def configure(self, address):
        topics = [self.topic] + ([f"{{ name: {self.broadcast}, broadcast: true }}"] if self.broadcast else [])
        configuration(self.config, self.place(), os.path.join(self.options.root, "config/models/chat.yaml"), topics, address,
                      self.changes, self.extra)

    def place(self):
        """The inside of the configuration's part about the store."""
        return f"path: '{self.path('{partition}')}'"

    def path(self, partition):
        return os.path.join(self.folder, f"store-{partition}.sqlite")

    def open_store(self, partition):
        return canonical.StoreFile(self.path(partition), self.model)

    # --- processes

    def start_member(self, number, *settings, group="faults"):
        """A new life of one of the processes, each of which finds the orders of its own shim."""
        worker = self.start(*SETTINGS, *settings, group=group, shim=False, environment=self.shims[number].environment())
        self.members[number:number + 1] = [worker]
        return worker

    def start_all(self, *settings, **options):
        for number in range(self.count):
            self.start_member(number, *settings, **options)

    def await_start(self, worker):
        """Waits for the server: before that SIGTERM ends a process as it does any program."""
        stillness = Stillness(worker.pid, 30)
        while worker.get("/livez")[0] == 0:
            if not worker.is_running or stillness.is_too_long():
                raise Broken("I6", f"a process does not start:\n{worker.end_of_log()}")
            time.sleep(0.05)

    def end_member(self, number, codes=(0,)):
        self.await_start(self.members[number])
        self.end(self.members[number], 30, codes)

    # --- stores

    @property
    def partitions_with_store(self):
        return [partition for partition in self.logs if has_tables(self.path(partition))]

    def states(self, partitions):
        """By partition epoch, process and end of the store's lease, its last token and its positions."""
        return {partition: self.state(partition) for partition in partitions}

    def state(self, partition):
        with self.open_store(partition) as store:
            epoch, holder, expires = store.rows("SELECT epoch, holder, expires FROM _lease")[0]
            token = store.value("SELECT max(token) FROM _history_transaction")
            return {"epoch": epoch, "holder": holder_of(holder), "expires": expires, "token": token,
                    "positions": store.positions()}

    def held_by(self, worker):
        """The partitions whose stores a process holds."""
        return [partition for partition, state in self.states(self.partitions_with_store).items()
                if state["holder"] == worker.pid]

    def positions_of_group(self):
        return {place: offset for partition in self.logs for place, offset in self.positions_of(partition).items()}

    def positions_of(self, partition):
        return checks.positions_of(self.path(partition), patience_seconds=10)

    def positions(self):
        """How far each store has read its partition."""
        return {partition: self.positions_of(partition).get((self.topic, partition), 0) for partition in self.logs}

    def position(self):
        return sum(self.positions().values())

    def feed(self, chance):
        """More records when the processes have few left."""
        if self.total - self.position() < 2000:
            self.produce(chance.randrange(3000, 6000))

    def await_progress(self, count=1, seconds=PROGRESS_SECONDS):
        """Waits until the stores together have so many records more, or all."""
        wanted = min(self.total, self.position() + count)
        self.await_that(lambda: self.position() >= wanted, f"{wanted} records are read", seconds)

    def await_end(self, seconds=PROGRESS_SECONDS):
        """Waits until every store has read its partition."""
        self.await_that(lambda: not self.behind(), "every partition is read", seconds)

    def behind(self):
        """By partition how far the store is, and how far the log, where the two differ."""
        return {partition: (position, len(self.logs[partition])) for partition, position in self.positions().items()
                if position < len(self.logs[partition])}

    def await_that(self, is_so, text, seconds):
        stillness = Stillness(limit_seconds=seconds)
        while not is_so():
            for worker in self.members:
                if not worker.is_running:
                    raise Broken("I6", f"a process ended with {worker.process.returncode}:\n{worker.end_of_log(3000)}")
            if stillness.is_too_long(self.position()):
                logs = "\n".join(worker.end_of_log() for worker in self.members)
                raise Broken("I6", f"not so for {seconds} s: {text}. Behind are {self.behind()}:\n{logs}")
            time.sleep(0.05)

    # --- checks

    def check_live(self, group="faults", may_go_back=False):
        """I1 to I3 of every store, whoever writes it meanwhile."""
        checks.check_committed(self.broker, group, self.topic, self.partitions, self.positions_of_group)
        for partition in self.partitions_with_store:
            with self.open_store(partition) as store:
                self.check_of(partition, store, may_go_back)
        self.read_changes()

    def check_of(self, partition, store, may_go_back=False):
        try:
            return self.expectations[partition].check_open(store, may_go_back)
        except Broken as broken:
            raise Broken(broken.invariant, f"store {partition}: {broken}") from broken

    def finish_all(self, seconds=PROGRESS_SECONDS, notifications=True, codes=(0,)):
        """Lets the processes read the rest, ends them, and checks everything there is to check."""
        self.await_end(seconds)
        if notifications:
            self.await_that(self.is_notified, "every change is notified", 30)
        for number in range(len(self.members)):
            self.end_member(number, codes)
        self.check_ends()
        self.read_changes()
        for partition, expectation in self.expectations.items():
            expectation.check_dump(self.options.binary, self.config, "--store", str(partition))
            if notifications:
                self.check_told(partition)

    def check_ends(self):
        for partition, expectation in self.expectations.items():
            with self.open_store(partition) as store:
                positions = self.check_of(partition, store)
            if positions != expectation.end:
                raise Broken("I2", f"store {partition}: the positions are {positions}, the logs' ends {expectation.end}")

    def is_notified(self):
        for partition in self.logs:
            with self.open_store(partition) as store:
                last = store.value("SELECT max(token) FROM _history_transaction") or 0
                if (store.value("SELECT max(token) FROM _cursor") or 0) < last:
                    return False
        return True

    def read_changes(self):
        """Adds the notifications that came since the last time."""
        for offset, value in self.broker.read(self.changes)[0]:
            if offset == len(self.told):
                self.told.append(value)
            elif offset > len(self.told):
                raise RuntimeError("the broker dropped notifications before the harness read them")

    def check_told(self, partition):
        """I4: what the common topic tells of one store, whose identity stands in `source`."""
        with self.open_store(partition) as store:
            source = f"/ingest-worker/{store.value('SELECT value FROM _metadata WHERE key = ?', 'storeID')}"
            log = list(enumerate(value for value in self.told if json.loads(value)["source"] == source))
            checks.check_notifications(log, store)
        checks.check_told_objects(checks.changes_told(log), self.expectations[partition].oracle.tables)


def holder_of(text):
    """The process that a lease names; None where it names none."""
    found = HOLDER.search(text)
    return int(found.group(1)) if found else None

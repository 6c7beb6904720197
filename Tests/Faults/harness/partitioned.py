"""A store for each partition, written by processes of one group, for one round of a scenario."""

import json
import os
import time

from . import canonical, checks, events
from .bench import Bench, has_tables
from .broker import newer_librdkafka
from .checks import Broken, Expectation
from .servers import Failure, Server
from .serverstore import StoreServer
from .shim import Shim, compiled
from .stillness import Stillness
from .worker import configuration

# Small commits, and leases that end soon.
SETTINGS = ("chunk.maxOperations=20", "commit.maxRows=20", "lease.ttlSeconds=4")
PROGRESS_SECONDS = 60
BROADCAST_PARTITIONS = 2
STRATEGIES = ["range", "cooperative-sticky"]


class StoresBench(Bench):
    """Processes of one group with a store for each partition; `broadcast` names a topic that every store reads whole."""

    def __init__(self, options, seed, count, processes=3, partitions=12, kind="mock", broadcast=None, **stream):
        self.count, self.broadcast = processes, broadcast
        places = [(broadcast, each) for each in range(BROADCAST_PARTITIONS if broadcast else 0)]
        self.members = []
        self.told = []  # all notifications, for the mock cluster drops the oldest
        super().__init__(options, seed, count, partitions=partitions, kind=kind, **{"size": 200, **stream})
        # Each store has logs of its own, for one that is behind may have lost less of a topic than another.
        self.expectations = {
            partition: Expectation(self.model, self.topic, {partition: log}, {place: [] for place in places})
            for partition, log in self.logs.items()}
        self.broadcast_streams = [events.Stream(seed, f"all{each}-", size=200) for _, each in places]
        if broadcast:
            self.create_broadcast()
        self.strategy = self.random.choice(STRATEGIES)
        # The program refuses the second one with Debian's librdkafka.
        self.library = {"LD_LIBRARY_PATH": newer_librdkafka(options.brokers, self.folder)} if self.strategy != "range" else {}
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

    # --- the logs

    def create_broadcast(self):
        self.broker.create(self.broadcast, BROADCAST_PARTITIONS)

    def append_broadcast(self, count):
        """Appends records to the broadcast topic; its worlds share no object with those of the partitions."""
        for partition, stream in enumerate(self.broadcast_streams):
            self.broker.produce(self.broadcast, partition, stream.records(count // BROADCAST_PARTITIONS))

    def produce_broadcast(self, count):
        self.append_broadcast(count)
        self.keep_broadcast()

    def keep_broadcast(self):
        """Keeps what the broker made of the broadcast topic."""
        for place, log in self.read_broadcast().items():
            for expectation in self.expectations.values():
                expectation.logs[place][:] = log

    def read_broadcast(self):
        logs = self.broker.read(self.broadcast, BROADCAST_PARTITIONS)
        return {(self.broadcast, partition): log for partition, log in logs.items()}

    @property
    def total(self):
        """How many records all stores together have to read."""
        return sum(sum(expectation.end.values()) for expectation in self.expectations.values())

    # --- processes

    def start_member(self, number, *settings, group="faults"):
        """A new life of one of the processes, each of which finds the orders of its own shim."""
        strategy = f"kafka.partition.assignment.strategy={self.strategy}"
        worker = self.start(*SETTINGS, strategy, *settings, group=group, shim=False,
                            environment={**self.shims[number].environment(), **self.library})
        self.members[number:number + 1] = [worker]
        return worker

    def start_all(self):
        for number in range(self.count):
            self.start_member(number)

    def await_start(self, worker):
        """Waits for the server: before that SIGTERM ends a process as it does any program."""
        stillness = Stillness(worker.pid, 30)
        while worker.get("/livez")[0] == 0:
            if not worker.is_running or stillness.is_too_long():
                raise Broken("I6", f"a process does not start:\n{worker.end_of_log()}")
            time.sleep(0.05)

    def end_member(self, number):
        self.await_start(self.members[number])
        self.end(self.members[number])

    # --- stores

    @property
    def partitions_with_store(self):
        return [partition for partition in self.logs if has_tables(self.path(partition))]

    def states(self, partitions):
        return {partition: self.state(partition) for partition in partitions}

    def state(self, partition):
        """Of a store its lease, whose end is in seconds, its last token and its positions."""
        with self.open_store(partition) as store:
            epoch, holder, expires = (*store.rows("SELECT epoch, holder, expires FROM _lease"), (0, "", 0))[0]
            token = store.value("SELECT max(token) FROM _history_transaction")
            return {"epoch": epoch, "holder": holder, "expires": expires / 1_000_000, "token": token,
                    "positions": store.positions()}

    def held_by(self, worker):
        """The partitions whose stores a process holds, or held last and nobody has taken since."""
        return [partition for partition, state in self.states(self.partitions_with_store).items()
                if state["expires"] and f"|{worker.pid}|" in state["holder"]]

    def positions_of_group(self):
        return {place: offset for partition in self.logs for place, offset in self.positions_of(partition).items()}

    def positions_of(self, partition):
        return checks.positions_of(self.path(partition), patience_seconds=10)

    def position(self):
        return sum(sum(self.positions_of(partition).values()) for partition in self.logs)

    def feed(self, chance):
        """More records when the processes have few left."""
        if self.total - self.position() < 2000:
            self.produce(chance.randrange(3000, 6000))

    def await_progress(self, count=1, seconds=PROGRESS_SECONDS):
        """Waits until the stores together have so many records more, or all."""
        wanted = min(self.total, self.position() + count)
        self.await_that(lambda: self.position() >= wanted, f"{wanted} records are read", seconds)

    def await_end(self, seconds=PROGRESS_SECONDS):
        """Waits until every store has read all that is its."""
        self.await_that(lambda: not self.behind(), "every partition is read", seconds)

    def behind(self, topics=None):
        """By store and place how far the store is, and how far the log, where the two differ."""
        found = {}
        for partition, expectation in self.expectations.items():
            positions = self.positions_of(partition)
            for place, end in expectation.end.items():
                if positions.get(place, 0) < end and place[0] in (topics or [self.topic, self.broadcast]):
                    found[(partition, *place)] = (positions.get(place, 0), end)
        return found

    def await_that(self, is_so, text, seconds):
        """Waits until something is so. Time in which the stores move does not count, nor, up to ten times as much, time in
        which processes are at work."""
        stillness, moved, position = Stillness(limit_seconds=seconds), time.monotonic(), None
        while not is_so():
            for worker in self.members:
                if not worker.is_running:
                    raise Broken("I6", f"a process ended with {worker.process.returncode}:\n{worker.end_of_log(3000)}")
            if position != (position := self.position()):
                moved = time.monotonic()
            if stillness.is_too_long(position) or time.monotonic() - moved > 10 * seconds:
                logs = "\n".join(worker.end_of_log() for worker in self.members)
                raise Broken("I6", f"not so for {seconds} s: {text}. Behind are {str(self.behind())[:800]}:\n{logs}")
            time.sleep(0.05)

    # --- checks

    def check_live(self, group="faults"):
        """I1 to I3 of every store, whoever writes it meanwhile."""
        checks.check_committed(self.broker, group, self.topic, self.partitions, self.positions_of_group)
        for partition in self.partitions_with_store:
            self.check_store(partition)
        self.read_changes()

    def check_store(self, partition):
        try:
            with self.open_store(partition) as store:
                return self.expectations[partition].check_open(store)
        except Broken as broken:
            raise Broken(broken.invariant, f"store {partition}, {broken}") from broken

    def finish_all(self, notifications=True):
        """Lets the processes read the rest, ends them, and checks everything there is to check."""
        self.await_end()
        if notifications:
            self.await_that(self.is_notified, "every change is notified", 30)
        for number in range(len(self.members)):
            self.end_member(number)
        self.check_ends()
        self.check_dumps()
        if notifications:
            self.read_changes()
            self.check_told()

    def check_ends(self):
        for partition, expectation in self.expectations.items():
            positions = self.check_store(partition)
            if positions != expectation.end:
                raise Broken("I2", f"store {partition}: the positions are {positions}, the logs' ends {expectation.end}")

    def check_dumps(self):
        for partition, expectation in self.expectations.items():
            expectation.check_dump(self.options.binary, self.config, "--store", str(partition))

    def is_at_ends(self):
        return all(self.positions_of(partition) == expectation.end for partition, expectation in self.expectations.items())

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

    def check_told(self):
        """I4: what the common topic tells of each store, whose identity stands in `source`."""
        told = {}
        for value in self.told:
            told.setdefault(json.loads(value)["source"], []).append(value)
        for partition, expectation in self.expectations.items():
            with self.open_store(partition) as store:
                source = f"/ingest-worker/{store.value('SELECT value FROM _metadata WHERE key = ?', 'storeID')}"
                log = list(enumerate(told.pop(source, [])))
                checks.check_notifications(log, store)
            checks.check_told_objects(checks.changes_told(log), expectation.oracle.tables)
        if told:
            raise Broken("I4", f"notifications name sources that are no store's: {sorted(told)[:3]}")


class ServersBench(StoresBench):
    """The same with a schema for each partition, in one of two PostgreSQL servers by turns."""

    def __init__(self, options, seed, count, partitions=4, **others):
        # Each listens on the addresses of its partitions, so that the partition in the URL's host chooses the server.
        first = Server("even", addresses=["127.0.1.0", "127.0.1.2"])
        self.servers = [first, Server("odd", addresses=["127.0.1.1", "127.0.1.3"], port=first.port)]
        self.known = {}  # the positions that a store had before its server went away
        super().__init__(options, seed, count, processes=2, partitions=partitions, **others)

    def place(self):
        return f"url: 'postgres://ingest@127.0.1.{{partition}}:{self.servers[0].port}/postgres?schema=chat_{{partition}}'"

    def server_number(self, partition):
        return partition % len(self.servers)

    def open_store(self, partition):
        return StoreServer(self.servers[self.server_number(partition)], self.model, f"chat_{partition}")

    @property
    def partitions_with_store(self):
        return [partition for partition in self.logs if self.positions_of(partition)]

    def positions_of(self, partition):
        server = self.servers[self.server_number(partition)]
        try:
            rows = server.query(f'SELECT topic, partition, "nextOffset" FROM chat_{partition}._position').splitlines()
            self.known[partition] = {(topic, int(number)): int(offset)
                                     for topic, number, offset in (row.split("|") for row in rows)}
        except Failure:
            pass  # the server is away, or has no such table yet
        return self.known.get(partition, {})

    def __exit__(self, *failure):
        super().__exit__(*failure)
        for server in self.servers:
            server.close()

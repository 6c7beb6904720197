"""A store in a PostgreSQL server that several workers write, for one round of a scenario."""

import os
import time

from . import canonical, checks
from .bench import Bench
from .checks import Broken
from .servers import Server, Session
from .stillness import Stillness
from .worker import configuration

SCHEMA = "ingest"
# Small commits, and claims that end soon.
SETTINGS = ("chunk.maxOperations=40", "chunk.maxBacklogOperations=1", "lease.ttlSeconds=3")
PROGRESS_SECONDS = 90


class StoreServer(canonical.StoreFile):
    """A store in a schema of a server, read with `psql` in one transaction."""

    # A letter tells the form of a value; the sign of a whole number is turned over.
    TOMBSTONE = ("convert_from(substr(identity, 2), 'UTF8') AS text, (('x' || encode(substr(version, 2), 'hex'))::bit(64)"
                 "::bigint # (-9223372036854775808)) AS number")
    IDENTITY = "convert_from(substr(identity, 2), 'UTF8') AS identity"

    def __init__(self, server, model, schema=SCHEMA):
        self.model = model
        self.session = Session(server)
        self.session.ask(f"SET search_path = {schema}; BEGIN ISOLATION LEVEL REPEATABLE READ")

    def __exit__(self, *_):
        self.session.close()

    def rows(self, sql, *arguments):
        for each in arguments:
            sql = sql.replace("?", str(each) if isinstance(each, int) else "'" + each.replace("'", "''") + "'", 1)
        text = self.session.ask(f"SELECT row_to_json(q) FROM ({sql}) q")
        return [[value(each) for each in checks.json.loads(line).values()] for line in text.splitlines()]

    def value(self, sql, *arguments):
        rows = self.rows(sql, *arguments)
        return rows[0][0] if rows else None

    @staticmethod
    def column(attribute):
        name = f'"{attribute.name}"'
        return f"(extract(epoch FROM {name}) * 1000000)::int8 AS {name}" if attribute.kind == "date" else name

    def damage(self):
        return None  # the server checks its files by itself

    def change(self, sql):
        """Plants a bug that ends with the transaction."""
        self.session.ask(sql)


def value(found):
    """A value of JSON as sqlite3 returns it; bytes come as hexadecimal digits."""
    return bytes.fromhex(found[2:]) if isinstance(found, str) and found.startswith("\\x") else found


class ServerBench(Bench):
    """Workers of one group with one store in a server."""

    def __init__(self, options, seed, count, server=None, url=None, writers=4, partitions=8, many=True, programs=None,
                 **stream):
        self.server = server or Server()
        self.url = url or self.server.url()
        self.is_shared = many
        self.count = writers
        self.members = []
        self.programs = programs  # the program of each worker in turn, where they are not of one version
        super().__init__(options, seed, count, partitions=partitions, kind="mock", **stream)

    def configure(self, address):
        writers = "many" if self.is_shared else "one"
        configuration(
            self.config, f"url: '{self.url}', writers: {writers}",
            os.path.join(self.options.root, "config/models/chat.yaml"), [self.topic], address, self.changes, self.extra)

    def open_store(self):
        return StoreServer(self.server, self.model)

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        self.close_servers(kind is not None)

    def close_servers(self, failed):
        if failed and self.options.kept and self.server.folder:
            log = os.path.join(self.server.folder, "server.log")
            with open(log, "rb") as source, open(os.path.join(self.options.kept, "server.log"), "wb") as target:
                target.write(source.read()[-2_000_000:])
        self.server.close()

    # --- workers

    def start(self, *settings, group="faults", **options):
        # The socket of requests stands in the folder of the path, which the URL outranks.
        path = os.path.join(self.folder, f"life-{self.lives + 1}", "none.sqlite")
        return super().start(f"store.url={self.url}", *SETTINGS, *settings, group=group, shim=False,
                             environment={"INGEST_STORE_PATH": path}, binary=next(self.programs) if self.programs else None,
                             **options)

    def start_all(self, *settings):
        self.members = [self.start(*settings) for _ in range(self.count)]

    def replace(self, number, *settings):
        self.members[number] = self.start(*settings)

    def heal(self, codes=(0, -9)):
        """Starts those again that have ended, as a service manager does; any other code than these is a failure."""
        for number, worker in enumerate(self.members):
            if worker.is_running:
                continue
            if worker.process.returncode not in codes:
                raise Broken("I6", f"a worker ended with {worker.process.returncode}:\n{worker.end_of_log(3000)}")
            self.replace(number)

    # --- the store

    def position(self):
        return self.server.number(f'SELECT coalesce(sum("nextOffset"), 0) FROM {SCHEMA}._position')

    def await_progress(self, count=1, seconds=PROGRESS_SECONDS, codes=(0, -9)):
        """Waits until the workers have saved some more records, or all of them."""
        wanted = min(self.total, self.position() + count)
        stillness = Stillness(limit_seconds=seconds)
        while (position := self.position()) < wanted:
            self.heal(codes)
            if stillness.is_too_long(position):
                logs = "\n".join(worker.end_of_log(1500) for worker in self.members)
                raise Broken("I6", f"the workers stand at {self.position()} of {wanted} for {seconds} s:\n{logs}")
            time.sleep(0.03)

    def check_live(self, group="faults", may_go_back=False):
        with self.open_store() as store:
            positions = self.expectation.check_open(store, may_go_back)
            self.check_tokens(store)
        return positions

    def check_dead(self, group=None, may_go_back=False):
        return self.check_live(may_go_back=may_go_back)

    @staticmethod
    def check_tokens(store):
        """I4: tokens have no gap, and the last one is the counter's."""
        count, last, counter = store.rows(
            "SELECT count(*), coalesce(max(token), 0) AS last, (SELECT token FROM _token) AS counter FROM _history_transaction")[0]
        if not count == last == counter:
            raise Broken("I4", f"{count} transactions, the last token {last}, the counter {counter}")

    def wait_notified(self, worker, seconds):
        stillness = Stillness(limit_seconds=seconds)
        last = self.server.number(f"SELECT token FROM {SCHEMA}._token")
        while (cursor := self.server.number(f"SELECT max(token) FROM {SCHEMA}._cursor")) < last:
            if stillness.is_too_long(cursor):
                return
            time.sleep(0.1)

    def finish_all(self, seconds=180, notifications="all", codes=(0, -9)):
        """Lets the workers read the rest, ends them, and checks everything there is to check."""
        self.await_progress(self.total, seconds, codes)
        self.wait_notified(None, 60)
        for worker in self.members:
            self.end(worker, 20)
        positions = self.check_live()
        if positions != self.expectation.end:
            raise Broken("I2", f"the positions are {positions}, the log's ends {self.expectation.end}")
        self.expectation.check_dump(self.options.binary, self.config)
        if notifications != "none":
            log = self.broker.read(self.changes)[0]
            with self.open_store() as store:
                checks.check_notifications(log, store)

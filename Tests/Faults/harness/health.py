"""A scenario of clients that mean no good: many, slow, half gone, or waiting as long as they may."""

import errno
import random
import resource
import select
import socket
import threading
import time

from .bench import Bench
from .checks import Broken
from .kills import rounds
from .outages import RETURN_SECONDS, ready_worker
from .pace import Pace

PROBE_SECONDS = 5.0  # within this time a probe has to be answered, however many clients there are
SLOW_SHARE = 0.1  # of the probes, which may take longer than a second
MEMORY_GROWTH = 60  # megabytes that clients may cost: 64 connections, 48 pages of the feed
REQUESTS = ["/readyz", "/metrics", "/status", "/", "/changes?wait=60&after=latest", "/changes?after=0&limit=1000", "/nothing"]


class Clients(threading.Thread):
    """Some hundred connections of one thread, each of a seeded kind, opened anew as they end."""

    def __init__(self, port, seed, count):
        super().__init__(daemon=True)
        self.port, self.chance, self.count = port, random.Random(seed), count
        self.ending = threading.Event()
        self.opened = self.refused = self.answered = 0
        self.connections = {}  # socket: (what it still sends, when it sends the next byte, whether it reads)

    def run(self):
        while not self.ending.is_set():
            for _ in range(min(20, self.count - len(self.connections))):
                self.open()
            self.serve()
        for connection in list(self.connections):
            self.drop(connection)

    def open(self):
        connection = socket.socket()
        connection.setblocking(False)
        code = connection.connect_ex(("127.0.0.1", self.port()))
        if code not in (0, errno.EINPROGRESS):
            self.refused += 1
            return connection.close()
        self.opened += 1
        request = f"GET {self.chance.choice(REQUESTS)} HTTP/1.1\r\nHost: x\r\n".encode()
        kind = self.chance.choice(["slow", "slow", "silent", "half", "deaf", "poll", "stream", "large", "pipeline", "quick"])
        text = {"slow": request + b"X-Slow: " + b"y" * 200, "silent": b"", "large": request + b"X-Large: " + b"z" * 80_000,
                "pipeline": (request + b"\r\n") * 50,
                "deaf": b"GET /changes?after=0&limit=1000 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
                "poll": b"GET /changes?wait=60&after=latest HTTP/1.1\r\nHost: x\r\n\r\n",
                "stream": b"GET /changes?after=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
                }.get(kind, request + b"\r\n")
        self.connections[connection] = [kind, text, time.monotonic()]

    def serve(self):
        now = time.monotonic()
        reading = [each for each, (kind, _, _) in self.connections.items() if kind not in ("deaf", "silent")]
        writing = [each for each, (_, text, due) in self.connections.items() if text and due <= now]
        # select() takes no more than 1024 descriptors.
        poll = select.poll()
        flags = {}
        for each in reading:
            flags[each.fileno()] = select.POLLIN
        for each in writing:
            flags[each.fileno()] = flags.get(each.fileno(), 0) | select.POLLOUT
        by_number = {each.fileno(): each for each in self.connections}
        for number, flag in flags.items():
            poll.register(number, flag)
        for number, flag in poll.poll(50):
            try:
                if flag & select.POLLOUT:
                    self.send(by_number[number], now)
                if flag & (select.POLLIN | select.POLLHUP | select.POLLERR):
                    self.receive(by_number[number])
            except OSError:
                self.drop(by_number[number])
        for connection in list(self.connections):
            if self.chance.random() < 0.002:
                self.drop(connection)

    def send(self, connection, now):
        state = self.connections[connection]
        kind, text, _ = state
        size = connection.send(text[:1] if kind == "slow" else text)
        state[1], state[2] = text[size:], now + self.chance.uniform(0.05, 1.0)
        if kind == "half" and not state[1]:
            connection.shutdown(socket.SHUT_WR)

    def receive(self, connection):
        data = connection.recv(1 << 16)
        self.answered += data.startswith(b"HTTP/1.1 ")
        if not data or self.connections[connection][0] == "quick":
            self.drop(connection)

    def drop(self, connection):
        self.connections.pop(connection, None)
        connection.close()

    def stop(self):
        self.ending.set()
        self.join(10)


def health_load(report, options, seed, cycles):
    """Hundreds of clients on the HTTP server while events are read: probes are answered, reading goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    for sub, count in rounds(seed, cycles, 5):
        with report.round(sub), Bench(options, sub, options.events or 8000) as bench:
            chance = random.Random(f"health/{sub}")
            worker = ready_worker(bench, "chunk.maxOperations=4", "commit.maxRows=1")
            for cycle in range(count):
                pace, probes = Pace(bench, worker), Probes(bench, worker)
                quiet = pace.run(5)
                before = worker.memory()
                # The quick set has one cycle, with a debug build, which 400 clients keep busy for seconds on two cores.
                number = 100 if cycle == 0 else chance.choice([100, 400, 800])
                clients = Clients(lambda: worker.port, f"clients/{sub}/{cycle}", number)
                clients.start()
                try:
                    loaded = pace.run(15, look=probes.ask)
                finally:
                    clients.stop()
                probes.check()
                report.add("connections", clients.opened)
                report.figures["% of the pace"] = min(report.figures.get("% of the pace", 999), 100 * loaded // max(1, quiet))
                if bench.memory - before > MEMORY_GROWTH:
                    raise Broken("I5", f"{clients.count} clients took the worker from {before} to {bench.memory} MB")
                took = worker.wait_ready(True, RETURN_SECONDS)
                if took is None:
                    raise Broken("I6", f"not ready after the clients are gone\n{worker.end_of_log()}")
                bench.read_logs()
                bench.check_live()
                report.cycle()
            bench.finish(worker)
            report.worst(bench.worst)


class Probes:
    """Asks for readiness as a supervisor does, beside all the others."""

    def __init__(self, bench, worker):
        self.bench, self.worker = bench, worker
        self.slow = self.count = 0

    def ask(self):
        asked = time.monotonic()
        status, body = probe(self.worker)
        took = time.monotonic() - asked
        self.bench.note_worst("probe", took)
        self.count, self.slow = self.count + 1, self.slow + (took > 1)
        if status not in (200, 503) or status == 503 and "loop" not in body:
            raise Broken("I6", f"/readyz under load says {status} {body} after {took:.1f} s\n{self.worker.end_of_log()}")

    def check(self):
        if self.slow > SLOW_SHARE * max(10, self.count):
            raise Broken("I6", f"{self.slow} of {self.count} probes under load took more than a second")


def probe(worker):
    """As a supervisor asks: again where the connection gives way, until the time is over."""
    deadline = time.monotonic() + PROBE_SECONDS
    while True:
        port = worker.port
        answer = worker.get("/readyz", max(0.1, deadline - time.monotonic()))
        worker.port = worker.port or port
        if answer[0] or time.monotonic() > deadline or not worker.is_running:
            return answer

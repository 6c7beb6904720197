"""A TCP proxy that misbehaves by order: it holds, delays, trickles, cuts and resets connections."""

import select
import socket
import struct
import threading
import time

MODES = ["hold", "hold-answers", "reset", "refuse", "delay", "trickle"]


class Pair:
    """A client's connection and the one to the broker."""

    def __init__(self, client, broker):
        self.client, self.broker = client, broker
        self.pending = {client: b"", broker: b""}  # bytes read that wait to be sent to the other side
        self.next = {client: 0.0, broker: 0.0}

    def other(self, end):
        return self.broker if end is self.client else self.client

    def close(self, resets=False):
        for end in (self.client, self.broker):
            if resets:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()


class Proxy:
    """Forwards a port of the loopback interface to another, one thread for all; `mode` may change at any time."""

    def __init__(self, target):
        self.target, self.mode, self.delay = target, "pass", 0.2
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.accepted = 0
        self.is_running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.is_running = False
        self.thread.join()
        self.listener.close()

    def run(self):
        while self.is_running:
            mode = self.mode
            if mode in ("reset", "refuse"):
                self.drop(resets=mode == "reset")
            ends = {end: pair for pair in self.pairs for end in (pair.client, pair.broker)}
            reading = [end for end, pair in ends.items() if len(pair.pending[end]) < 1 << 16 and self.reads(mode, end, pair)]
            ready, _, _ = select.select([self.listener, *reading], [], [], 0.02)
            for end in ready:
                if end is self.listener:
                    self.accept(mode)
                elif end in ends and ends[end] in self.pairs:
                    self.receive(end, ends[end])
            now = time.monotonic()
            for pair in list(self.pairs):
                self.forward(pair, mode, now)
        self.drop()

    @staticmethod
    def reads(mode, end, pair):
        return mode != "hold" and not (mode == "hold-answers" and end is pair.broker)

    def drop(self, resets=False):
        for pair in self.pairs:
            pair.close(resets)
        self.pairs = []

    def accept(self, mode):
        client, _ = self.listener.accept()
        self.accepted += 1
        if mode in ("reset", "refuse"):
            return client.close()
        try:
            broker = socket.create_connection(("127.0.0.1", self.target), timeout=1)
        except OSError:
            return client.close()
        for end in (client, broker):
            end.setblocking(False)
        self.pairs.append(Pair(client, broker))

    def receive(self, end, pair):
        try:
            data = end.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.pairs.remove(pair)
            return pair.close()
        if not pair.pending[end]:
            pair.next[end] = time.monotonic() + (self.delay if self.mode == "delay" else 0)
        pair.pending[end] += data

    def forward(self, pair, mode, now):
        for end in (pair.client, pair.broker):
            data = pair.pending[end]
            if not data or not self.reads(mode, end, pair):
                continue
            if mode in ("delay", "trickle") and now < pair.next[end]:
                continue
            size = 1 if mode == "trickle" else len(data)
            pair.next[end] = now + (1.0 if mode == "trickle" else self.delay)
            try:
                sent = pair.other(end).send(data[:size])
            except BlockingIOError:
                continue
            except OSError:
                self.pairs.remove(pair)
                return pair.close()
            pair.pending[end] = data[sent:]

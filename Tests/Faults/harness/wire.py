"""The few requests of the Kafka protocol that kcat has no command for: topics, ends of partitions, committed offsets."""

import socket
import struct
import time

from .stillness import Stillness


class Refused(Exception):
    """The broker answered with an error code, or with nothing."""


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value = struct.unpack_from(">" + form, self.data, self.at)[0]
        self.at += struct.calcsize(">" + form)
        return value

    def text(self):
        length = self.take("h")
        if length < 0:
            return None
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def skip_bytes(self):
        length = self.take("i")
        self.at += max(0, length)

    def array(self, read):
        return [read() for _ in range(self.take("i"))]


class Broker:
    """A connection for each request: simple, and right after faults too."""

    def __init__(self, port, host="127.0.0.1"):
        self.address = (host, port)

    def ask(self, key, version, body, seconds=10):
        header = struct.pack(">hhi", key, version, 1) + text("faults")
        with socket.create_connection(self.address, timeout=seconds) as connection:
            connection.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            data = self.read(connection, struct.unpack(">i", self.read(connection, 4))[0])
        return Reader(data[4:])

    @staticmethod
    def read(connection, size):
        data = b""
        while len(data) < size:
            piece = connection.recv(size - len(data))
            if not piece:
                raise Refused("the broker closed the connection")
            data += piece
        return data

    def create_topic(self, name, partitions):
        topic = text(name) + struct.pack(">ih", partitions, 1) + array([]) + array([])
        answer = self.ask(19, 2, array([topic]) + struct.pack(">i?", 10_000, False))
        answer.take("i")
        for _, code, _ in answer.array(lambda: (answer.text(), answer.take("h"), answer.text())):
            if code not in (0, 36):
                raise Refused(f"topic {name} was not made: error {code}")

    def delete_topic(self, name):
        answer = self.ask(20, 1, array([text(name)]) + struct.pack(">i", 10_000))
        answer.take("i")
        for _, code in answer.array(lambda: (answer.text(), answer.take("h"))):
            if code not in (0, 3):
                raise Refused(f"topic {name} was not deleted: error {code}")

    def end(self, topic, partition):
        """The offset after the last record."""
        body = struct.pack(">i", -1) + array(
            [text(topic) + array([struct.pack(">iq", partition, -1)])])
        answer = self.ask(2, 1, body)
        found = answer.array(lambda: (answer.text(), answer.array(
            lambda: (answer.take("i"), answer.take("h"), answer.take("q"), answer.take("q")))))
        code, offset = found[0][1][0][1], found[0][1][0][3]
        if code:
            raise Refused(f"end of {topic}: error {code}")
        return offset

    def committed(self, group, topic, partitions):
        """The offsets that the group committed, by partition; those it never committed are left out."""
        body = text(group) + array([text(topic) + array([struct.pack(">i", each) for each in partitions])])
        answer = self.ask(9, 1, body)
        found = answer.array(lambda: (answer.text(), answer.array(
            lambda: (answer.take("i"), answer.take("q"), answer.text(), answer.take("h")))))
        return {each[0]: each[1] for _, rows in found for each in rows if each[1] >= 0 and each[3] == 0}

    def members(self, group):
        """The names of the group's members, as the broker describes the group."""
        answer = self.ask(15, 0, array([text(group)]))

        def member():
            name = answer.text()
            answer.text(), answer.text(), answer.skip_bytes(), answer.skip_bytes()
            return name

        found = answer.array(lambda: (answer.take("h"), *(answer.text() for _ in range(4)), answer.array(member)))
        if found[0][0]:
            raise Refused(f"group {group} was not described: error {found[0][0]}")
        return set(found[0][5])

    def is_listening(self):
        try:
            socket.create_connection(self.address, timeout=1).close()
            return True
        except OSError:
            return False

    def wait(self, seconds=30):
        stillness = Stillness(limit_seconds=seconds)
        while not stillness.is_too_long():
            if self.is_listening():
                return
            time.sleep(0.02)
        raise Refused(f"no broker on port {self.address[1]} within {seconds} s")

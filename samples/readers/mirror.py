#!/usr/bin/env python3
"""Keeps a copy of the store's messages up to date, as a search index or a cache would.

  samples/readers/mirror.py BROKERS STORE COPY

Reads notifications from the topic ingest.changes, and the changed messages from the store. The copy is a SQLite file
with the table 'message' and the table 'progress'. Both change in one transaction, so each notification counts once,
wherever this program is killed. Where offsets are lost, or the store was rebuilt or restored, it reads the store anew.
Ends with SIGTERM or SIGINT. Needs confluent-kafka. Set TOPIC for another topic.
"""

import contextlib
import json
import os
import signal
import sqlite3
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

SCHEMA = """
CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, chat TEXT, sender TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY CHECK (id = 1), source TEXT, token INTEGER, offset INTEGER);
"""


def open_store(path):
    """Opens the store for reading; each statement sees the last commit."""
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)


def newest(store):
    """The store's source, as notifications have it, and its last token."""
    identity = store.execute("SELECT value FROM _metadata WHERE key = 'storeID'").fetchone()[0]
    last = store.execute("SELECT seq FROM sqlite_sequence WHERE name = '_history_transaction'").fetchone()
    return f"/ingest-worker/{identity}", last[0] if last else 0


class Mirror:
    """The copy, and how far it has come: the store's source, the last finished token, the next offset of the topic."""

    def __init__(self, store_path, copy_path):
        self.store_path = store_path
        self.copy = sqlite3.connect(copy_path, isolation_level=None)
        self.copy.executescript(SCHEMA)
        progress = self.copy.execute("SELECT source, token, offset FROM progress").fetchone()
        self.source, self.token, self.offset = progress or (None, 0, -1)

    def belongs_to_store(self):
        """Whether the copy goes on with the store: it was neither rebuilt nor restored from an older backup."""
        with contextlib.closing(open_store(self.store_path)) as store:
            source, last = newest(store)
            return source == self.source and last >= self.token

    def read_everything(self, offset):
        """Replaces the copy: messages and token come from one snapshot of the store."""
        self.discard()
        with contextlib.closing(open_store(self.store_path)) as store:
            store.execute("BEGIN")
            self.source, token = newest(store)
            rows = store.execute("SELECT id, chat, sender, body FROM Message_readable WHERE NOT _placeholder")
            self.copy.execute("BEGIN IMMEDIATE")
            self.copy.execute("DELETE FROM message")
            self.copy.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", rows)
            self.finish(token, offset)
        print(f"read {self.source} up to token {self.token}", flush=True)

    def take(self, notification, offset):
        """Applies a notification, which stands before the given offset."""
        data = notification["data"]
        if notification["source"] != self.source or data["token"] <= self.token:
            # A repeat, or a notification of a former store; unless the store itself was rebuilt or restored.
            if not self.belongs_to_store():
                self.read_everything(offset)
            return
        if data.get("part", 1) == 1:
            # A transaction in parts may begin again after a crash of the worker.
            self.discard()
            self.copy.execute("BEGIN IMMEDIATE")
        # Opened anew each time: after a rebuild another file stands at the path.
        with contextlib.closing(open_store(self.store_path)) as store:
            for change in data["changes"]:
                if change["entity"] == "Message":
                    self.apply(store, change["id"])
        if data.get("last", True):
            self.finish(data["token"], offset)

    def apply(self, store, identity):
        """Copies a message's present state, which may be newer than the notification; removes a message that is gone."""
        row = store.execute(
            "SELECT id, chat, sender, body FROM Message_readable WHERE id = ? AND NOT _placeholder", (identity,)
        ).fetchone()
        if row:
            self.copy.execute("REPLACE INTO message VALUES (?, ?, ?, ?)", row)
        else:
            self.copy.execute("DELETE FROM message WHERE id = ?", (identity,))

    def finish(self, token, offset):
        self.copy.execute("REPLACE INTO progress VALUES (1, ?, ?, ?)", (self.source, token, offset))
        self.copy.execute("COMMIT")
        self.token, self.offset = token, offset

    def discard(self):
        if self.copy.in_transaction:
            self.copy.execute("ROLLBACK")


def main(brokers, store, copy):
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    # The copy holds the offset, so the group commits none.
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": "mirror",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
    })
    # All notifications of whole transactions stand in the first partition.
    partition = TopicPartition(os.environ.get("TOPIC", "ingest.changes"), 0)
    oldest, end = consumer.get_watermark_offsets(partition, timeout=30)
    mirror = Mirror(store, copy)
    if not oldest <= mirror.offset <= end or not mirror.belongs_to_store():
        mirror.read_everything(oldest)
    partition.offset = mirror.offset
    consumer.assign([partition])
    while running:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if error := message.error():
            # With lost offsets the next start reads the store.
            if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error)
            print(error, file=sys.stderr, flush=True)
        elif message.value() is not None:
            mirror.take(json.loads(message.value()), message.offset() + 1)
    consumer.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

#!/usr/bin/env python3
"""Reads the changes of many stores into one file, and prints the messages of each member over all stores.

  samples/readers/stores.py CHANGES STORE…

The file CHANGES is of SQLite. It has the table 'change', and in the table 'progress' the last token of each store. A
store's changes and its token are written in one transaction, so each change counts once, wherever this program is
killed. Run it again for the changes since then. A store that was rebuilt or restored begins a new history. Workers may
run meanwhile. Needs Python alone.
"""

import collections
import contextlib
import sqlite3
import sys

SCHEMA = """
CREATE TABLE IF NOT EXISTS change
    (store TEXT, token INTEGER, time TEXT, entity TEXT, identity TEXT, change TEXT, properties TEXT);
CREATE TABLE IF NOT EXISTS progress (store TEXT PRIMARY KEY, identity TEXT, token INTEGER);
"""
CHANGES = "SELECT token, time, entity, identity, change, properties FROM _history WHERE token > ? AND token <= ?"


def value(store, key):
    row = store.execute("SELECT value FROM _metadata WHERE key = ?", [key]).fetchone()
    return row[0] if row else None


def take_changes(store, name, result):
    """Adds the changes behind the store's token. Returns their number and the new token."""
    # One snapshot: the last token is that of the rows that are read.
    store.execute("BEGIN")
    # A restored store keeps its identity, gives lost tokens again, and counts the epoch up.
    identity, purged = f"{value(store, 'storeID')} {value(store, 'epoch') or 0}", int(value(store, "purgedToken") or 0)
    last = store.execute("SELECT seq FROM sqlite_sequence WHERE name = '_history_transaction'").fetchone()
    last = last[0] if last else 0
    result.execute("BEGIN IMMEDIATE")
    known, token = result.execute("SELECT identity, token FROM progress WHERE store = ?", [name]).fetchone() or (identity, 0)
    if known != identity or token > last:
        result.execute("DELETE FROM change WHERE store = ?", [name])
        token = 0
    if purged > token:
        print(f"{name} has purged its history up to token {purged}; the changes continue from there", file=sys.stderr)
    count = 0
    for row in store.execute(CHANGES, [token, last]):
        result.execute("INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?)", [name, *row])
        count += 1
    result.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?)", [name, identity, last])
    result.execute("COMMIT")
    store.execute("COMMIT")
    return count, last


def main(changes, names):
    messages = collections.Counter()
    with contextlib.closing(sqlite3.connect(changes, isolation_level=None)) as result:
        result.executescript(SCHEMA)
        # One file after the other: SQLite attaches ten at most, and none has to be attached for this.
        for name in names:
            with contextlib.closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True, isolation_level=None)) as store:
                count, token = take_changes(store, name, result)
                print(f"{name}: {count} new changes, token {token}")
                # Every store has each member. It counts the messages of its own chats.
                messages.update(dict(store.execute("SELECT id, messagesCount FROM Member")))
    for member, count in sorted(messages.items(), key=lambda each: (-each[1], each[0])):
        print(f"{member} {count} messages")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])

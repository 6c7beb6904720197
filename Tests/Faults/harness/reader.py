"""A process with readers of a store, as any program may have them: it reads, checks what it sees, and says so at its end.

  python3 -m harness.reader STORE SEED READERS

Behind SIGUSR1 its snapshots are as short as they can be. SIGTERM ends it; its last line is JSON: snapshots, longest,
longest_since that signal, busy, problems.
"""

import json
import random
import signal
import sqlite3
import sys
import threading
import time

# What has to be nothing in any whole state, with what it means.
EMPTY = {
    "a chat's count of messages is not that of its rows":
        "SELECT count(*) FROM Chat c WHERE messagesCount != (SELECT count(*) FROM Message WHERE chat = c.pk)",
    "a chat's count of members is not that of its links":
        "SELECT count(*) FROM Chat c WHERE membersCount != (SELECT count(*) FROM Chat_members WHERE owner = c.pk)",
    "a member's count of messages is not that of its rows":
        "SELECT count(*) FROM Member m WHERE messagesCount != (SELECT count(*) FROM Message WHERE sender = m.pk)",
    "a change is of no transaction":
        "SELECT count(*) FROM (SELECT token FROM _history_change UNION ALL SELECT token FROM _history_range) "
        "WHERE token NOT IN (SELECT token FROM _history_transaction)",
}
STATE = ("SELECT (SELECT max(token) FROM _history_transaction), (SELECT total(nextOffset) FROM _position), "
         "(SELECT count(*) FROM Message), (SELECT total(seq) FROM Message), (SELECT count(*) FROM _history_transaction)")


class Reader(threading.Thread):
    """One connection after the other; what it saw must never go back, and must not move within a transaction."""

    def __init__(self, path, seed, ending, hurrying):
        super().__init__(daemon=True)
        self.path, self.chance, self.ending, self.hurrying = path, random.Random(seed), ending, hurrying
        self.snapshots = self.busy = self.token = self.position = 0
        self.longest = self.longest_since = 0.0
        self.problems = []

    def run(self):
        while not self.ending.is_set() and len(self.problems) < 3:
            try:
                connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=5, isolation_level=None)
                try:
                    for _ in range(self.chance.choice([1, 3, 20])):
                        self.snapshot(connection)
                finally:
                    connection.close()
            except sqlite3.OperationalError as error:
                # While a store is made or recovered, there are moments in which nobody gets in.
                if not any(part in str(error) for part in ("locked", "unable to open", "no such table")):
                    self.problems.append(repr(error))
                self.busy += 1
                self.ending.wait(0.05)
            except sqlite3.DatabaseError as error:
                self.problems.append(repr(error))

    def snapshot(self, connection):
        if self.ending.is_set():
            return
        began, hurries = time.monotonic(), self.hurrying.is_set()
        connection.execute("BEGIN")
        try:
            before = connection.execute(STATE).fetchone()
            for problem, sql in EMPTY.items():
                if connection.execute(sql).fetchone()[0]:
                    self.problems.append(f"{problem}, at token {before[0]}")
            if not hurries and self.chance.random() < 0.05:
                if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    self.problems.append("quick_check found damage")
            if not self.hurrying.is_set():
                self.hurrying.wait(self.chance.choice([0, 0.01, 0.1, 0.1, 0.5, self.chance.uniform(0.5, 1.5)]))
            if connection.execute(STATE).fetchone() != before:
                self.problems.append(f"the state moved within a transaction, from {before}")
        finally:
            connection.execute("ROLLBACK")
        token, position = before[0] or 0, before[1]
        # An empty history, all of it purged, has no last token.
        if token and token < self.token or position < self.position:
            self.problems.append(f"token {token} and position {position} after {self.token} and {self.position}")
        self.token, self.position = max(token, self.token), position
        self.snapshots += 1
        seconds = time.monotonic() - began
        self.longest = max(self.longest, seconds)
        if hurries:
            self.longest_since = max(self.longest_since, seconds)


def main():
    path, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ending, hurrying = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: (ending.set(), hurrying.set()))
    signal.signal(signal.SIGUSR1, lambda *_: hurrying.set())
    readers = [Reader(path, f"{seed}/{number}", ending, hurrying) for number in range(count)]
    for reader in readers:
        reader.start()
    for reader in readers:
        while reader.is_alive():
            reader.join(0.2)
    print(json.dumps({
        "snapshots": sum(reader.snapshots for reader in readers), "busy": sum(reader.busy for reader in readers),
        "longest": max(reader.longest for reader in readers),
        "longest_since": max(reader.longest_since for reader in readers),
        "problems": [problem for reader in readers for problem in reader.problems]}))


if __name__ == "__main__":
    main()

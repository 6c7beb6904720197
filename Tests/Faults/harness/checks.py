"""What must hold, by the numbers of ARCHITECTURE.md; every check reads the store or the topics, never the worker's word."""

import json
import os
import sqlite3
import subprocess
import time

from . import canonical
from .oracle import Oracle


class Broken(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant, message):
        super().__init__(f"{invariant}: {message}")
        self.invariant = invariant


class Expectation:
    """The oracle beside a store: advanced to the store's positions, then compared.

    Partitions hold worlds of their own, so only the order within each counts. `others` are the logs of other topics that
    the store reads, by topic and partition.
    """

    def __init__(self, model, topic, logs, others=None):
        self.model = model
        self.logs = {**{(topic, partition): log for partition, log in logs.items()}, **(others or {})}
        self.keeps_history = True  # false where it is purged meanwhile
        self.forget_history()
        self.restart()

    def forget_history(self):
        """Begins the checks of history and dead letters anew: they look at what is new only."""
        self.letters_seen = self.history_seen = 0
        self.alive = {}

    def restart(self):
        self.oracle = Oracle(self.model)
        self.done = dict.fromkeys(self.logs, 0)

    def advance(self, positions, may_go_back=False):
        known = {place: position for place, position in positions.items() if place in self.logs}
        for place, position in known.items():
            name, end = "%s/%d" % place, len(self.logs[place])
            if position > end:
                raise Broken("I1", f"position {position} of {name} is past the log's end {end}")
            if position < self.done[place]:
                if not may_go_back:
                    raise Broken("I2", f"position of {name} went back from {self.done[place]} to {position}: commits were lost")
                self.restart()
                return self.advance(positions)
        for place, position in sorted(known.items()):
            while self.done[place] < position:
                self.step(place)

    def step(self, place):
        """Applies the next record of a log."""
        offset, value = self.logs[place][self.done[place]]
        self.oracle.apply(*place, offset, value)
        self.done[place] += 1

    @property
    def end(self):
        return {place: len(log) for place, log in self.logs.items() if log}

    def check(self, path, may_go_back=False, history=True):
        """Compares a store with the oracle at the store's own positions (I2, I3), its history and dead letters too."""
        with canonical.StoreFile(path, self.model) as store:
            return self.check_open(store, may_go_back, history)

    def check_open(self, store, may_go_back=False, history=True):
        problem = store.damage()
        if problem:
            raise Broken("I2", problem)
        positions = store.positions()
        self.advance(positions, may_go_back)
        found = store.lines()
        problem = canonical.difference(canonical.of_oracle(self.oracle), found)
        if problem:
            raise Broken(*self.blame(problem, found, positions))
        if history:
            if self.keeps_history:
                self.check_history(store, may_go_back)
            self.check_letters(store, may_go_back)
        return positions

    def blame(self, problem, found, positions):
        """Tells a store whose rows and positions are of different commits (I3) from one that is simply wrong (I2)."""
        rows = found[:found.index("positions")]
        lines = canonical.of_oracle(self.oracle)
        if lines[:lines.index("positions")] == rows:
            return "I2", f"the dead letters differ from the oracle's at {positions}: {problem}"
        for _ in range(500):
            before = dict(self.done)
            for place, log in self.logs.items():
                if self.done[place] < len(log):
                    self.step(place)
            lines = canonical.of_oracle(self.oracle)
            if lines[:lines.index("positions")] == rows:
                return "I3", f"the rows are those of {self.done}, the positions say {positions}"
            if before == self.done:
                break
        self.restart()
        return "I2", f"the store differs from the oracle at {positions}: {problem}"

    # --- history and dead letters are of the same commits as the rows

    def check_history(self, store, may_go_back):
        if may_go_back:
            self.forget_history()
        last = self.history_seen
        for token, entity, identity, change in store.history(last):
            key = (entity, identity)
            was = self.alive.get(key, False)
            if (change == "insert") == was:
                raise Broken("I3", f"history: {change} of {entity} {identity} at token {token}, which was "
                                   + ("there" if was else "not there"))
            self.alive[key] = change != "delete"
            self.history_seen = token
        there = {key for key, is_alive in self.alive.items() if is_alive}
        rows = {(name, identity) for name, table in self.oracle.tables.items() for identity in table}
        if there != rows:
            some = sorted(there ^ rows)[:3]
            raise Broken("I3", f"the history does not tell of the rows there are: {some}")

    def check_letters(self, store, may_go_back):
        if may_go_back:
            self.letters_seen = 0
        for number, topic, partition, offset, value in store.rows(
                'SELECT id, topic, partition, "offset", value FROM _dead_letter WHERE id > ? ORDER BY id', self.letters_seen):
            log = self.logs[(topic, partition)]
            if log[offset - log[0][0]][1] != (value or b""):
                raise Broken("I2", f"the dead letter of {topic}/{partition}@{offset} is not that record")
            self.letters_seen = number

    def check_dump(self, binary, config, *options):
        """The program's own dump is the oracle's, byte for byte, and the program finds the store sound."""
        for extra in ((), ("--dump",)):
            ended = subprocess.run([binary, "verify", "--config", config, *options, *extra], capture_output=True, timeout=300)
            if ended.returncode:
                raise Broken("I2", f"verify {' '.join(extra)} ended with {ended.returncode}: "
                                   f"{(ended.stdout + ended.stderr)[-800:].decode(errors='replace')}")
        expected = "\n".join(canonical.of_oracle(self.oracle)) + "\n"
        if ended.stdout != expected.encode():
            raise Broken("I2", "verify --dump differs: " + str(
                canonical.difference(expected.splitlines(), ended.stdout.decode(errors="replace").splitlines())))


def check_committed(broker, group, topic, partitions, read_positions):
    """I1: what the broker was told is never ahead of the store. A worker that runs goes on meanwhile, so the broker is
    asked first."""
    found = broker.wire.committed(group, topic, range(partitions))
    positions = read_positions()
    for partition, committed in found.items():
        if committed > positions.get((topic, partition), 0):
            raise Broken("I1", f"the broker's offset of {topic}/{partition} is {committed}, the store's "
                               f"{positions.get((topic, partition), 0)}")


def place_of(data):
    """The number of a notification's transaction behind its epoch: a server that took over begins a new one."""
    return data.get("epoch", 0), data["token"]


class Forks:
    """The epochs of a store's history: which numbers were used again."""

    def __init__(self, store):
        text = store.value("SELECT value FROM _metadata WHERE key = 'epochs'") or ""
        self.forks = [tuple(map(int, fork.split(":")))[:2] for fork in text.split()]

    def has_lost(self, place, before=None):
        """Tells whether a later epoch, up to `before`, began without a transaction."""
        return any(place[0] < epoch and place[1] > last and (before is None or epoch <= before)
                   for epoch, last in self.forks)


class LogReader:
    """Reads one partition's notifications; raises where their order, a repetition or the end of a deletion is wrong. A
    log that lacks its beginning may repeat what stood there. A broker that lost the log's end may take the batch under
    way before the worker sends the lost ones again: once for each loss that a worker has told of."""

    def __init__(self, transactional=False, by_object=False, is_whole=True, losses=0):
        self.transactional, self.by_object, self.is_whole, self.losses = transactional, by_object, is_whole, losses
        self.seen, self.reached, self.first = {}, (0, 0, 0), None
        # The deletion read last, while the null value behind it is missing; and those that a crash cut off from theirs.
        self.deletion, self.cut_off = None, set()

    def read(self, offset, key, value):
        """Returns the notification if it comes for the first time."""
        event = None if value is None else json.loads(value)
        self.follow_deletion(offset, key, event)
        if event is None:
            return None
        if self.by_object and event["data"]["change"] == "delete":
            self.deletion = (key, event["id"])
        if event["id"] in self.seen:
            self.check_repeated(offset, event, value)
            return None
        place = (*place_of(event["data"]), int((event["id"] + ".0").split(".")[1]))
        if place <= self.reached:
            if not self.is_whole and place < self.first:
                return None
            self.losses -= 1
        if self.losses < 0:
            raise Broken("I4", f"notification {event['id']} came for the first time after {self.reached}, at offset "
                               f"{offset} of a log that begins with {self.first}")
        self.first = self.first or place
        self.reached, self.seen[event["id"]] = place, value
        return event

    def follow_deletion(self, offset, key, event):
        if self.deletion is None:
            return
        (deleted, identity), self.deletion = self.deletion, None
        if event is None and key == deleted:
            self.cut_off.discard(identity)
        # Without transactions a worker may end between the two: what comes next is sent again, and so will both be.
        elif not self.transactional and event is not None and event["id"] in self.seen:
            self.cut_off.add(identity)
        else:
            raise Broken("I4", f"after the deletion of {deleted} comes {key} at offset {offset}, and no null value")

    def check_repeated(self, offset, event, value):
        if self.transactional:
            raise Broken("I4", f"notification {event['id']} came twice in transactions, at offset {offset}")
        if self.seen[event["id"]] != value:
            raise Broken("I4", f"notification {event['id']} came again with other content, at offset {offset}")

    def end(self):
        lacking = self.cut_off | ({self.deletion[1]} if self.deletion else set())
        if lacking:
            raise Broken("I4", f"deletions are followed by no null value: {sorted(lacking)[:3]}")


def changes_told(log, losses=0):
    """By epoch and token the changes that a topic of transactions tells of."""
    told, reader = {}, LogReader(is_whole=not log or log[0][0] == 0, losses=losses)
    for offset, value in log:
        event = reader.read(offset, None, value)
        if event is not None:
            told.setdefault(place_of(event["data"]), []).extend(event["data"]["changes"])
    return told


def check_told_objects(told, tables):
    """I4 without a history: who follows the notifications ends with the objects that there are."""
    alive = set()
    for token in sorted(told):
        for each in told[token]:
            key = (each["entity"], str(each["id"]))
            if (each["change"] == "insert") == (key in alive):
                raise Broken("I4", f"token {token} tells of an {each['change']} of {key}, which was "
                                   + ("there" if key in alive else "not there"))
            (alive.discard if each["change"] == "delete" else alive.add)(key)
    rows = {(name, identity) for name, table in tables.items() for identity in table}
    if alive != rows:
        raise Broken("I4", f"the notifications do not lead to the objects there are: {sorted(alive ^ rows)[:3]}")


def check_notifications(log, store, losses=None, is_purged=False):
    """I4: what the topic tells is the history, all of it, in its order; of a purged one what is left. A broker that keeps
    little, as the mock cluster does, has the end of the topic only. One that may lose notifications has not all, and
    `losses` says how often a worker has noticed."""
    told = changes_told(log, losses or 0)
    kept = min(told) if log and log[0][0] > 0 else (0, 0)
    epochs, forks, saved = dict(store.rows("SELECT token, epoch FROM _history_transaction")), Forks(store), {}
    for token, entity, identity, change in store.history():
        saved.setdefault((epochs.get(token, 0), token), []).append((entity, str(identity), change))
    for token in sorted(told.keys() | saved.keys()):
        if is_purged and token < min(saved, default=(token[0] + 1, 0)) or forks.has_lost(token):
            continue
        if token not in saved:
            raise Broken("I4", f"token {token} was notified and is not in the history")
        if token not in told:
            if losses is not None or token < kept:
                continue
            raise Broken("I4", f"token {token} was never notified; the topic has {min(told, default=None)} to "
                               f"{max(told, default=None)}, the history {min(saved)} to {max(saved)}")
        changes = [(each["entity"], str(each["id"]), each["change"]) for each in told[token]]
        if sorted(changes) != sorted(saved[token]):
            raise Broken("I4", f"the notification of token {token} is not what the history has")
    return len(told)


# docs/how-to/alerts.md promises a log of 393 MB and a commit more in a backlog. The margins are for the harness's own
# snapshots, to which checkpoints give way, and for a program that is not optimised.
MEMORY_MEGABYTES = 200
LOG_MEGABYTES = 450


def check_bounds(memory_megabytes, log_bytes, memory_limit=MEMORY_MEGABYTES, log_limit=LOG_MEGABYTES << 20):
    """I5: memory and the write-ahead log."""
    if memory_megabytes > memory_limit:
        raise Broken("I5", f"the worker has {memory_megabytes} MB in memory, more than {memory_limit}")
    if log_bytes > log_limit:
        raise Broken("I5", f"the write-ahead log has {log_bytes >> 20} MB, more than {log_limit >> 20}")


def positions_of(path, patience_seconds=0):
    """The store's positions, {} while there is no store, or where it cannot be read before patience ends."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            return read_positions(path)
        except sqlite3.Error as error:
            if "no such table" in str(error) or not os.path.exists(path) or time.monotonic() >= deadline:
                return {}
        time.sleep(0.1)


def read_positions(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    try:
        rows = connection.execute("SELECT topic, partition, nextOffset FROM _position").fetchall()
    finally:
        connection.close()
    # Who reads in the moment of a power loss may see what it garbles; the next look is at the store that is left.
    return {(topic, partition): offset for topic, partition, offset in rows if isinstance(offset, int)}

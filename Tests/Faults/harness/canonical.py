"""The canonical text of a state: of the oracle's, and of a store file read with sqlite3 by docs/reference/store.md.

It is the text of `ingest-worker verify --dump`, made a second and a third time, so that all three can be compared byte
for byte.
"""

import json
import os
import shutil
import sqlite3
from datetime import timedelta

from .oracle import EPOCH

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text):
    return '"' + "".join(
        ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def date(value):
    text = (EPOCH + timedelta(microseconds=value)).strftime("%Y-%m-%dT%H:%M:%S")
    text = text.zfill(20) if len(text) < 19 else text
    fraction = value % 1_000_000
    if fraction == 0:
        return text + "Z"
    return text + (f".{fraction // 1000:03d}Z" if fraction % 1000 == 0 else f".{fraction:06d}Z")


def shown(value, kind):
    if value is None:
        return "null"
    if kind == "date":
        return date(value)
    return quoted(value) if kind == "string" else str(value)


def key(text):
    return text.encode()


def of_oracle(oracle, partitions=None):
    """The lines of the oracle's state."""
    lines = []
    for name in sorted(oracle.model.entities):
        entity = oracle.model.entities[name]
        lines.append(f"entity {name}")
        table = oracle.tables[name]
        for identity in sorted(table, key=key):
            thing = table[identity]
            lines.append(f"object {name} {quoted(identity)}" + (" placeholder" if thing.placeholder else ""))
            for attribute in entity.attributes.values():
                if attribute.name == "id":
                    value = identity
                elif attribute.derived:
                    value = len(thing.many[attribute.derived[0]])
                else:
                    value = thing.values.get(attribute.name)
                lines.append(f"  {attribute.name}={shown(value, attribute.kind)}")
            for link in entity.relationships.values():
                if link.is_join:
                    members = ", ".join(quoted(each) for each in sorted(thing.many[link.name], key=key))
                    lines.append(f"  {link.name}=[{members}]")
                elif not link.many:
                    lines.append(f"  {link.name}={shown(thing.one[link.name], 'string')}")
    lines.append("tombstones")
    for (name, identity), (version, _) in sorted(
            oracle.tombstones.items(), key=lambda each: (each[0][0], key(each[0][1]))):
        lines.append(f"  {name} {quoted(identity)} version={shown(version, 'date')}")
    letters = [place + letter for place, found in oracle.dead_letters.items() for letter in found]
    return lines + places(
        [place + (offset,) for place, offset in oracle.positions.items()], sorted(letters))


def places(positions, letters):
    lines = ["positions"]
    lines += [f"  {quoted(t)} partition={p} nextOffset={o}" for t, p, o in sorted(positions)]
    lines.append("deadLetters")
    return lines + [f"  {quoted(t)} partition={p} offset={o} code={quoted(c)}" for t, p, o, c in letters]


class StoreFile:
    """A store file, read only, in one transaction: a whole state whatever the worker does meanwhile."""

    def __init__(self, path, model):
        self.model = model
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10, isolation_level=None)
        self.connection.execute("BEGIN")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def rows(self, sql, *arguments):
        return self.connection.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        row = self.connection.execute(sql, arguments).fetchone()
        return row[0] if row else None

    TOMBSTONE = "identity, version"
    IDENTITY = "identity"

    @staticmethod
    def column(attribute):
        return f'"{attribute.name}"'

    def history(self, after=0):
        """Token, entity, identity and kind of each change, in the order of the changes."""
        changes = self.rows(
            f"SELECT id, token, entity, {self.IDENTITY}, change FROM _history_change WHERE token > ?", after)
        ranges = self.rows("SELECT id, token, entity, change, first, last, objects FROM _history_range WHERE token > ?",
                           after)
        if ranges:
            # A range holds keys: the identities are in the tables, those of deleted objects in the deletions.
            names = {(entity, key): identity for entity, key, identity in self.rows(
                f"SELECT entity, object, {self.IDENTITY} FROM _history_change WHERE change = 2")}
            for entity in self.model.entities:
                names |= {(entity, key): identity for key, identity in self.rows(f'SELECT pk, id FROM "{entity}"')}
            for number, token, entity, change, first, last, objects in ranges:
                keys = range(first, last + 1) if objects is None else json.loads(objects)
                changes += [(number + step, token, entity, names.get((entity, key)), change)
                            for step, key in enumerate(keys)]
        kinds = ("insert", "update", "delete")
        return [(token, entity, identity, kinds[change]) for _, token, entity, identity, change in sorted(
            changes, key=lambda each: each[0])]

    def damage(self):
        """What is wrong with the file itself, or None."""
        problem = self.value("PRAGMA quick_check(1)")
        if problem != "ok":
            return f"the store's file is damaged: {problem}"
        return "a reference leads nowhere" if self.rows("PRAGMA foreign_key_check") else None

    def positions(self):
        return {(t, p): o for t, p, o in self.rows('SELECT topic, partition, "nextOffset" FROM _position')}

    def lines(self):
        """The lines of the state, as of_oracle gives them."""
        names = {}
        for name in self.model.entities:
            names[name] = dict(self.rows(f'SELECT pk, id FROM "{name}"'))
        lines = []
        for name in sorted(self.model.entities):
            self.append(name, names, lines)
        lines.append("tombstones")
        for name, identity, version in self.rows(
                f"SELECT entity, {self.TOMBSTONE} FROM _tombstone ORDER BY entity, _tombstone.identity"):
            lines.append(f"  {name} {quoted(identity)} version={shown(version, 'date')}")
        return lines + places(
            self.rows('SELECT topic, partition, "nextOffset" FROM _position'),
            self.rows('SELECT topic, partition, "offset", code FROM _dead_letter '
                      'ORDER BY topic, partition, "offset", code'))

    def append(self, name, names, lines):
        entity = self.model.entities[name]
        lines.append(f"entity {name}")
        attributes = list(entity.attributes.values())
        columns = ", ".join([self.column(each) for each in attributes] + [f'"{each}"' for each in entity.one])
        joins = {link.name: self.join(name, link, names) for link in entity.relationships.values() if link.is_join}
        for row in self.rows(f'SELECT pk, _placeholder, {columns} FROM "{name}" ORDER BY id'):
            values = dict(zip([a.name for a in attributes] + entity.one, row[2:]))
            lines.append(f"object {name} {quoted(values['id'])}" + (" placeholder" if row[1] else ""))
            for attribute in attributes:
                lines.append(f"  {attribute.name}={shown(values[attribute.name], attribute.kind)}")
            for link in entity.relationships.values():
                if link.is_join:
                    members = ", ".join(map(quoted, sorted(joins[link.name].get(row[0], ()), key=key)))
                    lines.append(f"  {link.name}=[{members}]")
                elif not link.many:
                    pk = values[link.name]
                    lines.append(f"  {link.name}=" + (
                        "null" if pk is None else quoted(names[link.to][pk]) if pk in names[link.to] else "dangling"))

    def join(self, name, link, names):
        """The destinations' identities by owner; the table has that name of the two that sorts first."""
        own, other = f"{name}_{link.name}", f"{link.to}_{link.inverse}"
        columns = "owner, destination" if own < other else "destination, owner"
        members = {}
        for owner, destination in self.rows(f'SELECT {columns} FROM "{min(own, other)}"'):
            members.setdefault(owner, []).append(names[link.to].get(destination, "dangling"))
        return members


def copy_store(path, folder):
    """Copies a store that nobody has open, with its write-ahead log, so that reading does not change the evidence."""
    target = os.path.join(folder, "copy.sqlite")
    for suffix in ("", "-wal"):
        if os.path.exists(target + suffix):
            os.remove(target + suffix)
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, target + suffix)
    if os.path.exists(target + "-shm"):
        os.remove(target + "-shm")
    return target


def difference(expected, found):
    """The first lines that differ, for a report; None where all are equal."""
    if expected == found:
        return None
    for index, (left, right) in enumerate(zip(expected, found)):
        if left != right:
            break
    else:
        index = min(len(expected), len(found))
    start = max(0, index - 6)
    heading = next((l for l in reversed(expected[:index + 1]) if not l.startswith(" ")), "")
    return (f"line {index + 1} (in {heading!r}): {len(expected)} lines expected, {len(found)} found\n"
            + "\n".join(f"    oracle {l}" for l in expected[start:index + 3]) + "\n"
            + "\n".join(f"    store  {l}" for l in found[start:index + 3]))

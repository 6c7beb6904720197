"""An independent replay of a log of events, written from docs/reference/events.md and docs/reference/model.md only.

One event after the other, no chunks, no store: what an event does, all of it or nothing, and which record is put aside
under which code.
"""

import json
import re
from datetime import datetime, timedelta, timezone

MAXIMUM_DEPTH = 64
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
VERBS = {"upserted": "upsert", "created": "upsert", "updated": "upsert", "patched": "upsert",
         "deleted": "delete", "removed": "delete"}
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d\d:?\d\d))?$")


class DeadLetter(Exception):
    """The record is put aside under a code."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Stale(Exception):
    """The event turns out to change nothing."""


class Thing:
    """An object: its values, where its to-one relationships lead, and the sets of its to-many ones."""

    __slots__ = ("entity", "id", "values", "one", "many", "placeholder")

    def __init__(self, entity, identity):
        self.entity, self.id, self.placeholder = entity, identity, True
        self.values = {}
        self.one = dict.fromkeys(entity.one)
        self.many = {name: set() for name in entity.many}


def microseconds(text, cache={}):
    """Reads an instant; None where the text is none."""
    if text in cache:
        return cache[text]
    found = DATE.match(text)
    value = None
    if found:
        year, month, day, hour, minute, second, fraction, offset = found.groups()
        try:
            instant = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
                               int((fraction or "0").ljust(6, "0")[:6]), timezone.utc)
            if offset and offset not in "Zz":
                minutes = int(offset[1:3]) * 60 + int(offset[-2:])
                instant -= timedelta(minutes=minutes if offset[0] == "+" else -minutes)
            value = (instant - EPOCH) // timedelta(microseconds=1)
        except ValueError:
            value = None
    if len(cache) > 100_000:
        cache.clear()
    cache[text] = value
    return value


def depth(text):
    """How deep containers are nested, whatever is in strings left aside."""
    deepest = level = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        first = token.group()[0]
        if first in "[{":
            level += 1
            deepest = max(deepest, level)
        elif first in "]}":
            level -= 1
    return deepest


def parse(value):
    """Reads a record's bytes as JSON, or says with which code it is put aside."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise DeadLetter("json.utf8") from None
    if text.count("[") + text.count("{") > MAXIMUM_DEPTH and depth(text) > MAXIMUM_DEPTH:
        raise DeadLetter("json.depth")
    if not text.strip(" \t\r\n"):
        raise DeadLetter("json.empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos:]
        if error.msg == "Extra data":
            raise DeadLetter("json.trailing") from None
        is_cut = not rest.strip() or error.msg.startswith("Unterminated string")
        is_cut = is_cut or any(word.startswith(rest) for word in ("true", "false", "null"))
        raise DeadLetter("json.truncated" if is_cut else "json.syntax") from None


class Oracle:
    """The state after a prefix of the log, and the records put aside in it."""

    def __init__(self, model):
        self.model = model
        self.tables = {name: {} for name in model.entities}
        self.tombstones = {}
        self.dead_letters = {}  # (topic, partition) -> [(offset, code)]
        self.positions = {}
        self.counts = {"applied": 0, "stale": 0, "dead": 0}
        self.undo = []

    # --- records

    def apply(self, topic, partition, offset, value):
        """Applies the record at a place; offsets without a record are passed over."""
        self.positions[(topic, partition)] = offset + 1
        self.undo = []
        self.touched = {}
        self.failures = set()
        try:
            operations = self.decode(value)
            if self.is_stale(operations[-1]):
                raise Stale
            for operation in operations:
                self.carry_out(operation)
            self.validate()
            self.counts["applied"] += 1
        except Stale:
            self.roll_back()
            self.counts["stale"] += 1
        except DeadLetter as letter:
            self.roll_back()
            self.counts["dead"] += 1
            self.dead_letters.setdefault((topic, partition), []).append((offset, letter.code))

    def roll_back(self):
        for step in reversed(self.undo):
            step[0](*step[1:])

    # --- decoding

    def decode(self, value):
        event = parse(value)
        if not isinstance(event, dict):
            raise DeadLetter("decode.type")
        kind = event.get("type")
        if not isinstance(kind, str):
            raise DeadLetter("decode.envelope")
        time = event.get("time")
        if time is not None:
            time = microseconds(time) if isinstance(time, str) else None
            if time is None:
                raise DeadLetter("decode.envelope")
        if "data" not in event:
            raise DeadLetter("decode.envelope")
        subject, _, verb = kind.rpartition(".")
        verb = VERBS.get(verb.lower())
        if verb is None or not subject:
            raise DeadLetter("decode.event_type")
        name = subject.split(".")[-1].lower().replace("-", "").replace("_", "")
        entity = self.model.folded.get(name)
        if entity is None:
            raise DeadLetter("decode.unknown_entity")
        operations = []
        self.decode_object(event["data"], self.model.entities[entity], verb, time, operations, event.get("subject"))
        return operations

    def decode_object(self, data, entity, verb, time, operations, subject=None):
        if not isinstance(data, dict):
            raise DeadLetter("decode.type")
        identity, version, values, links = subject, None, {}, {}
        for key, value in data.items():
            if key == "id":
                identity = self.identity(value)
            elif key in entity.stored:
                value = self.value(value, entity.stored[key])
                if key == entity.version:
                    version = value
                values[key] = value
            elif key in entity.relationships:
                if verb == "upsert":
                    links[key] = self.change(value, entity.relationships[key], time, operations)
            elif key not in entity.attributes:
                raise DeadLetter("decode.unknown_property")
        if identity is None:
            raise DeadLetter("decode.missing_identity")
        if version is None and entity.version:
            version = time
        operations.append((verb, entity, identity, version, time, values, links))
        return identity

    def identity(self, value):
        if not isinstance(value, str) or len(value.encode()) > 1024 or "\0" in value:
            raise DeadLetter("decode.identity")
        return value

    def value(self, value, attribute):
        if value is None:
            return None
        kind = attribute.kind
        if kind == "string":
            if isinstance(value, str) and "\0" not in value:
                return value
        elif kind == "date":
            found = microseconds(value) if isinstance(value, str) else None
            if found is not None:
                return found
        elif kind == "integer" and not isinstance(value, bool):
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, int) and -(2**63) <= value < 2**63:
                return value
        raise DeadLetter("decode.type")

    def change(self, value, link, time, operations):
        to = self.model.entities[link.to]
        if not link.many:
            if isinstance(value, list):
                raise DeadLetter("decode.relationship")
            return None if value is None else self.reference(value, to, time, operations)
        if value is None:
            return ("replace", [])
        if isinstance(value, list):
            return ("replace", [self.reference(each, to, time, operations) for each in value])
        if not isinstance(value, dict):
            raise DeadLetter("decode.relationship")
        add, remove = [], []
        for key, each in value.items():
            if key not in ("add", "remove") or not isinstance(each, list):
                raise DeadLetter("decode.relationship")
            if key == "add":
                add = [self.reference(one, to, time, operations) for one in each]
            else:
                remove = [self.identity(one) for one in each]
        return ("edit", add, remove)

    def reference(self, value, entity, time, operations):
        if not isinstance(value, dict):
            return self.identity(value)
        if len(value) == 1 and "id" in value:
            return self.identity(value["id"])
        return self.decode_object(value, entity, "upsert", time, operations)

    # --- versions and tombstones

    def is_stale(self, operation):
        _, entity, identity, version, time, _, _ = operation
        known = self.tables[entity.name].get(identity)
        if known is not None and not known.placeholder:
            own = known.values.get(entity.version)
            return version is not None and own is not None and version < own
        tombstone = self.tombstones.get((entity.name, identity))
        if tombstone is None:
            return False
        if version is not None and tombstone[0] is not None:
            return version <= tombstone[0]
        return time is not None and tombstone[1] is not None and time <= tombstone[1]

    def set_tombstone(self, entity, identity, tombstone):
        key = (entity.name, identity)
        self.undo.append((self.restore, self.tombstones, key, self.tombstones.get(key)))
        if tombstone is None:
            self.tombstones.pop(key, None)
        else:
            self.tombstones[key] = tombstone

    def bury(self, entity, identity, version, time):
        """Deletes what may have been deleted before: the later version and the later time count."""
        former = self.tombstones.get((entity.name, identity), (None, None))
        later = [max((one for one in pair if one is not None), default=None) for pair in zip(former, (version, time))]
        self.set_tombstone(entity, identity, tuple(later))

    @staticmethod
    def restore(table, key, old):
        if old is None:
            table.pop(key, None)
        else:
            table[key] = old

    # --- operations

    def carry_out(self, operation):
        verb, entity, identity, version, time, values, links = operation
        if self.is_stale(operation):
            return
        table = self.tables[entity.name]
        known = table.get(identity)
        if verb == "delete":
            if known is not None:
                self.delete([known], time, version)
            else:
                self.bury(entity, identity, version, time)
            return
        thing = known if known is not None else self.create(entity, identity)
        self.touch(thing)
        if thing.placeholder:
            self.complete(thing)
        for name, value in values.items():
            self.check(thing, entity.stored[name], value)
            self.set_value(thing, name, value)
        if entity.version and version is not None:
            self.set_value(thing, entity.version, version)
        deletion = None
        for name, change in links.items():
            tombstone = self.apply_link(thing, entity.relationships[name], change, time)
            deletion = deletion or tombstone
        if deletion is not None:
            self.delete([thing], deletion[1], None)

    def create(self, entity, identity):
        thing = Thing(entity, identity)
        table = self.tables[entity.name]
        self.undo.append((table.pop, identity))
        table[identity] = thing
        return thing

    def complete(self, thing):
        self.undo.append((setattr, thing, "placeholder", True))
        thing.placeholder = False
        for name, value in thing.entity.defaults.items():
            if thing.values.get(name) is None:
                self.set_value(thing, name, value)
        self.set_tombstone(thing.entity, thing.id, None)

    def touch(self, thing):
        self.touched[(thing.entity.name, thing.id)] = thing

    def set_value(self, thing, name, value):
        self.undo.append((thing.values.__setitem__, name, thing.values.get(name)))
        thing.values[name] = value

    # --- relationships

    def resolve(self, identity, link, time):
        """What a reference leads to: an object, or the tombstone of one that is gone."""
        found = self.tables[link.to].get(identity)
        if found is not None:
            return found, None
        tombstone = self.tombstones.get((link.to, identity))
        if tombstone is not None and not (time is not None and tombstone[1] is not None and time > tombstone[1]):
            return None, tombstone
        return self.create(self.model.entities[link.to], identity), None

    def apply_link(self, thing, link, change, time):
        """Returns the tombstone of a deletion that takes the thing with it."""
        if not link.many:
            if change is None:
                return self.set_one(thing, link, None)
            found, tombstone = self.resolve(change, link, time)
            if found is not None:
                return self.set_one(thing, link, found)
            rule = self.model.entities[link.to].relationships[link.inverse].delete
            if rule == "cascade":
                return tombstone
            if rule == "deny":
                raise DeadLetter("reference.deleted")
            return self.set_one(thing, link, None)
        wanted = {}
        for identity in change[1]:
            found, _ = self.resolve(identity, link, time)
            if found is not None:
                wanted[identity] = found
        if change[0] == "replace":
            for identity in sorted(thing.many[link.name] - wanted.keys()):
                self.unlink(thing, link, self.tables[link.to][identity])
        for other in wanted.values():
            self.link(thing, link, other)
        if change[0] == "edit":
            for identity in change[2]:
                other = self.tables[link.to].get(identity)
                if other is not None and identity in thing.many[link.name]:
                    self.unlink(thing, link, other)

    def set_one(self, thing, link, other):
        old = thing.one[link.name]
        new = None if other is None else other.id
        if old == new:
            return
        self.touch(thing)
        self.undo.append((thing.one.__setitem__, link.name, old))
        thing.one[link.name] = new
        if old is not None:
            members = self.tables[link.to][old].many[link.inverse]
            self.undo.append((members.add, thing.id))
            members.discard(thing.id)
        if other is not None:
            members = other.many[link.inverse]
            self.undo.append((members.discard, thing.id))
            members.add(thing.id)

    def link(self, thing, link, other):
        if link.is_column_of_other:
            return self.set_one(other, other.entity.relationships[link.inverse], thing)
        if other.id in thing.many[link.name]:
            return
        self.set_pair(thing, link, other, True)

    def unlink(self, thing, link, other):
        if link.is_column_of_other:
            return self.set_one(other, other.entity.relationships[link.inverse], None)
        self.set_pair(thing, link, other, False)

    def set_pair(self, thing, link, other, is_linked):
        self.touch(thing)
        self.touch(other)
        for members, identity in ((thing.many[link.name], other.id), (other.many[link.inverse], thing.id)):
            if is_linked:
                self.undo.append((members.discard, identity))
                members.add(identity)
            else:
                self.undo.append((members.add, identity))
                members.discard(identity)

    # --- deletions

    def delete(self, roots, time, version):
        doomed = {(root.entity.name, root.id): root for root in roots}
        waiting = list(roots)
        while waiting:
            thing = waiting.pop()
            for name in thing.entity.many:
                link = thing.entity.relationships[name]
                if link.delete == "cascade":
                    for identity in thing.many[name]:
                        if (link.to, identity) not in doomed:
                            other = self.tables[link.to][identity]
                            doomed[(link.to, identity)] = other
                            waiting.append(other)
        for thing in doomed.values():
            for name in thing.entity.many:
                link = thing.entity.relationships[name]
                if link.delete == "deny" and any((link.to, each) not in doomed for each in thing.many[name]):
                    raise DeadLetter("validation.1600")
        for thing in doomed.values():
            self.let_go(thing, doomed)
        first = (roots[0].entity.name, roots[0].id)
        for key, thing in doomed.items():
            own = version if key == first and version is not None else self.buried_version(thing, time)
            table = self.tables[key[0]]
            self.undo.append((table.__setitem__, thing.id, thing))
            del table[thing.id]
            self.touched.pop(key, None)
            self.bury(thing.entity, thing.id, own, time)

    def let_go(self, thing, doomed):
        for name in thing.entity.many:
            link = thing.entity.relationships[name]
            for identity in sorted(thing.many[name]):
                if (link.to, identity) not in doomed:
                    self.unlink(thing, link, self.tables[link.to][identity])
        for name in thing.entity.one:
            link = thing.entity.relationships[name]
            if thing.one[name] is not None and (link.to, thing.one[name]) not in doomed:
                self.set_one(thing, link, None)

    def buried_version(self, thing, time):
        own = thing.values.get(thing.entity.version)
        if time is None or not thing.entity.version:
            return own
        return time if own is None or own < time else own

    # --- rules

    def check(self, thing, attribute, value):
        if value is None:
            return
        limits, name = attribute.limits, attribute.name
        key = (thing.entity.name, thing.id, name)
        if "min" in limits and value < limits["min"]:
            self.failures.add(key + ("1620",))
        if "max" in limits and value > limits["max"]:
            self.failures.add(key + ("1610",))
        if "maxLength" in limits and len(value) > limits["maxLength"]:
            self.failures.add(key + ("1660",))
        if "minLength" in limits and len(value) < limits["minLength"]:
            self.failures.add(key + ("1670",))
        if "pattern" in limits and not re.search(limits["pattern"], value):
            self.failures.add(key + ("1680",))

    def validate(self):
        for (entity, identity), thing in self.touched.items():
            if thing.placeholder:
                continue
            for name in thing.entity.required:
                if thing.values.get(name) is None:
                    self.failures.add((entity, identity, name, "1570"))
            for name in thing.entity.required_links:
                if thing.one[name] is None:
                    self.failures.add((entity, identity, name, "1570"))
        if len(self.failures) == 1:
            raise DeadLetter("validation." + next(iter(self.failures))[3])
        if self.failures:
            raise DeadLetter("validation.1560")

"""A seeded stream of events about chats: late, twice, out of order, sometimes broken."""

import json
import random

START = 1_772_000_000  # a second in February 2026
WORDS = "belt crusher pump shift night report oil filter größe 部品 запас done late spare 🚜".split()


def stamp(seconds, fraction=0):
    days, rest = divmod(seconds, 86_400)
    text = _date(days) + f"T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return text + (f".{fraction:03d}Z" if fraction else "Z")


def _date(days, cache={}):
    if days not in cache:
        from datetime import date, timedelta
        cache[days] = (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    return cache[days]


class Stream:
    """Makes records of one world of chats; worlds of different names share no object.

    world       prefix of all identities: partitions with worlds of their own do not depend on each other's order
    size        how many messages there may be; chats are a tenth of that, members a fifth
    window      how far a record may be moved from its place
    """

    def __init__(self, seed, world="", size=1500, window=200, duplicates=0.08, late=0.05, poison=0.01):
        self.random = random.Random(f"{seed}/{world}")
        self.world, self.window = world, window
        self.messages, self.chats, self.members = size, max(3, size // 10), max(3, size // 5)
        self.duplicates, self.late, self.poison = duplicates, late, poison
        self.clock = START
        self.number = 0
        self.recent = []
        self.waiting = []

    # --- names

    def chat(self):
        return f"{self.world}c{self.skewed(self.chats)}"

    def member(self):
        return f"{self.world}u{self.skewed(self.members)}"

    def message(self):
        # A message keeps its chat in most events: its number says which.
        return f"{self.world}m{int(self.random.random() * self.messages)}"

    def skewed(self, count):
        return int(count * self.random.random() ** 1.6)

    def text(self):
        return " ".join(self.random.choices(WORDS, k=1 + int(self.random.random() * 8)))

    # --- events

    def event(self):
        """One event, in the order in which things happened."""
        r = self.random.random
        self.number += 1
        if r() < 0.3:
            self.clock += 1
        # Some events are older than the last ones about their object.
        age = int(r() ** 4 * 600) if r() < self.late * 2 else 0
        when = self.clock - age
        fraction = int(r() * 1000) if r() < 0.1 else 0
        kind, data = self.subject()
        event = {"specversion": "1.0", "id": f"e{self.number}", "source": "/faults", "type": kind}
        if r() < 0.97:
            event["time"] = stamp(when, fraction)
        if r() < 0.3:
            data["updatedAt"] = stamp(when - (int(r() * 30) if r() < 0.2 else 0), fraction)
        event["data"] = data
        return event

    def subject(self):
        r = self.random.random
        dice = r()
        if dice < 0.62:
            return self.about_message()
        if dice < 0.78:
            return self.about_chat()
        if dice < 0.90:
            return self.about_member()
        if dice < 0.96:
            return "message.deleted", {"id": self.message()}
        if dice < 0.98:
            return "chat.removed", {"id": self.chat()}
        return "com.example.member.deleted", {"id": self.member()}

    def about_message(self):
        r = self.random.random
        identity = self.message()
        chat = f"{self.world}c{hash_of(identity) % self.chats}" if r() < 0.9 else self.chat()
        data = {"id": identity}
        if r() < 0.9:
            data["chat"] = chat if r() < 0.93 else {"id": chat, "title": self.text()}
        if r() < 0.8:
            sender = self.member()
            data["sender"] = sender if r() < 0.85 else {"id": sender, "name": self.text()}
        if r() < 0.8:
            data["body"] = self.text() if r() < 0.97 else None
        if r() < 0.5:
            data["sentAt"] = stamp(self.clock - int(r() * 1000))
        if r() < 0.4:
            data["seq"] = self.number
        return ("message.created" if r() < 0.5 else "message.updated"), data

    def about_chat(self):
        r = self.random.random
        data = {"id": self.chat()}
        if r() < 0.6:
            data["title"] = self.text()
        dice = r()
        if dice < 0.35:
            data["members"] = {"add": self.people(3), "remove": [self.member() for _ in range(int(r() * 3))]}
        elif dice < 0.5:
            data["members"] = self.people(6)
        elif dice < 0.53:
            data["members"] = None
        elif dice < 0.56:
            data["messages"] = {"add": [self.message()]}
        elif dice < 0.58:
            identity = self.message()
            data["messages"] = {"add": [{"id": identity, "body": self.text(), "sender": self.member()}]}
        return ("chat.upserted" if r() < 0.8 else "chat.patched"), data

    def people(self, limit):
        r = self.random.random
        found = [self.member() for _ in range(int(r() * limit))]
        return [name if r() < 0.85 else {"id": name, "name": self.text()} for name in found]

    def about_member(self):
        r = self.random.random
        data = {"id": self.member(), "name": self.text()}
        if r() < 0.5:
            data["email"] = f"someone{self.number}@example.com"
        if r() < 0.1:
            data["chats"] = {"add": [self.chat()]}
        return "Member.updated", data

    # --- what is broken

    def broken(self):
        r = self.random
        whole = json.dumps(self.event(), ensure_ascii=False).encode()
        plain = json.dumps({"type": "chat.created", "data": {"id": self.chat(), "title": "plain text"}}).encode()
        return r.choice([
            lambda: whole[:20] + b"\xff\xfe" + whole[20:],
            lambda: plain[:r.randrange(1, len(plain) - 1)],
            lambda: plain.replace(b'":', b'" ', 1),
            lambda: plain + b" }",
            lambda: b"  ",
            lambda: b'{"type":"chat.created","data":' + b"[" * 200 + b"]" * 200 + b"}",
            lambda: b'{"type":"chat.created","data":' + b'{"a":' * 3000 + b"1" + b"}" * 3000 + b"}",
            lambda: b"[1,2,3]",
            lambda: b'{"data":{"id":"x"}}',
            lambda: b'{"type":"chat.created"}',
            lambda: b'{"type":"chat.created","time":"yesterday","data":{"id":"x"}}',
            lambda: b'{"type":"chat.imagined","data":{"id":"x"}}',
            lambda: b'{"type":"spaceship.created","data":{"id":"x"}}',
            lambda: b'{"type":"chat.created","data":{"title":"nameless"}}',
            lambda: b'{"type":"chat.created","data":{"id":17}}',
            lambda: b'{"type":"chat.created","data":{"id":"x","colour":"red"}}',
            lambda: b'{"type":"message.created","data":{"id":"x","seq":"many"}}',
            lambda: b'{"type":"message.created","data":{"id":"x","chat":["a"]}}',
            lambda: json.dumps({"type": "message.created", "data": {
                "id": self.message(), "chat": self.chat(), "seq": -1}}).encode(),
            lambda: json.dumps({"type": "message.created", "data": {"id": f"{self.world}lonely{self.number}"}}).encode(),
            lambda: json.dumps({"type": "member.created", "data": {"id": self.member(), "email": "nobody"}}).encode(),
            lambda: json.dumps({"type": "chat.created", "data": {"id": self.chat(), "title": "t" * 201}}).encode(),
            lambda: json.dumps({"type": "message.created", "data": {
                "id": self.message(), "chat": None, "seq": -1}}).encode(),
        ])()

    # --- the log

    def records(self, count):
        """The next records of the log, as bytes."""
        made = []
        while len(made) < count:
            made.append(self.record())
        return made

    def record(self):
        r = self.random.random
        # What was held back comes later, past what happened after it.
        if self.waiting and r() < self.late + len(self.waiting) / (self.window + 1.0):
            return self.waiting.pop(int(r() * len(self.waiting)))
        if self.recent and r() < self.duplicates:
            return self.recent[int(r() * len(self.recent))]
        if r() < self.poison:
            return self.broken()
        value = json.dumps(self.event(), ensure_ascii=False, separators=(",", ":")).encode()
        if len(self.recent) < self.window:
            self.recent.append(value)
        else:
            self.recent[int(r() * self.window)] = value
        if r() < self.late and len(self.waiting) < self.window:
            self.waiting.append(value)
            return self.record()
        return value


def hash_of(text):
    """A number that is the same in every run."""
    number = 0
    for character in text:
        number = (number * 31 + ord(character)) & 0xFFFFFF
    return number

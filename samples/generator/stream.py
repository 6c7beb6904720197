"""What the sample files have in common."""

import json
from datetime import datetime, timezone
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent


def text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def at(day, clock):
    """An instant of March 2026."""
    hour, minute, second = (clock + ":00").split(":")[:3]
    return datetime(2026, 3, day, int(hour), int(minute), int(second), tzinfo=timezone.utc)


class Stream:
    """Event lines in the order of their delivery."""

    def __init__(self, source, prefix):
        self.source, self.prefix, self.lines = source, prefix, []

    def add(self, kind, moment, data):
        event = {
            "specversion": "1.0", "id": f"{self.prefix}-{len(self.lines) + 1:04}", "source": self.source,
            "type": kind, "time": text(moment), "data": data,
        }
        self.lines.append(json.dumps(event, ensure_ascii=False))

    def repeat(self, count):
        """Delivers the last lines a second time, as a broker does after a lost acknowledgement."""
        self.lines += self.lines[-count:]

    def raw(self, line):
        self.lines.append(line)

    def write(self, name):
        (FOLDER / name).write_text("\n".join(self.lines) + "\n", encoding="utf-8")

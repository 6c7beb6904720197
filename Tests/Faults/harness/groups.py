"""A worker and the other members of its group, and how to tell a group that the broker itself has lost."""

import re
import time

from .checks import Broken
from .outages import RETURN_SECONDS, SLOW, join, leave
from .stillness import Stillness

JOINED = re.compile(rb"JoinGroup response: GenerationId \d+, Protocol \S+, LeaderId (\S+?)(?: \(me\))?, "
                    rb"my MemberId (\S+?), [^\n]*\(no error\)")
# librdkafka's own account of its group.
ACCOUNT = ("kafka.debug=cgrp", "log.level=debug")
ANSWERS_SECONDS = 30  # a member that is refused joins anew every eight seconds


class Group:
    """One worker under test, and members that come and go, with properties of librdkafka that all of them have."""

    def __init__(self, bench, report, properties, *settings):
        self.bench, self.report, self.properties, self.settings = bench, report, properties, settings
        self.name = "faults"
        self.worker = None
        self.members = []
        self.lost = 0
        report.add("unsettled group", 0)

    def start(self):
        """A new life of the worker; returns when it is ready."""
        properties = (f"kafka.{name}={value}" for name, value in self.properties.items())
        self.worker = self.bench.start(*SLOW, *ACCOUNT, *self.settings, *properties, group=self.name)
        # The worker says so where other members have partitions that its store has read before.
        but = ["members"] if self.members else []
        if self.worker.wait_ready(True, RETURN_SECONDS, but) is None and not self.heal():
            raise Broken("I6", f"not ready {RETURN_SECONDS} s after the start: {self.worker.get('/readyz')[1]}\n"
                               + self.worker.end_of_log())

    def join(self, chance, number, consumer=False):
        properties = {**self.properties, "group.id": self.name}
        self.members.append(join(self.bench, chance, number, properties, consumer))

    def leave_all(self):
        while self.members:
            leave(self.members.pop())

    def heal(self):
        """Where the broker has lost the group, ends all its members and goes on in a new one; tells whether it did."""
        leader = lost_leader(self.bench.broker, self.worker, self.name)
        if leader is None:
            return False
        print(f"  unsettled group {self.name}: the broker answers joins with the leader {leader}, which by its own "
              "list is no member", flush=True)
        self.report.add("unsettled group", 1)
        self.leave_all()
        self.bench.end(self.worker)
        self.bench.other_stores.clear()  # their positions are of the group that is left
        self.lost += 1
        self.name = f"faults-{self.lost}"
        self.start()
        return True

    def await_end(self, seconds):
        """Waits until the worker, alone by now, has read everything, in a new group where the broker loses this one."""
        stillness = Stillness(limit_seconds=seconds)
        while (position := self.bench.position()) < self.bench.total:
            if not self.worker.is_running or stillness.is_too_long(position):
                raise Broken("I6", f"the worker, alone in its group, stands at {self.bench.position()} of "
                                   f"{self.bench.total}:\n{self.worker.end_of_log()}")
            if self.heal():
                stillness = Stillness(limit_seconds=seconds)
            time.sleep(0.5)


def lost_leader(broker, worker, group):
    """The leader that the broker names to the worker though by its own list that is no member, or None.

    Tansu 0.6.0 does not choose another leader when the group's leader leaves while a rebalance goes on: it answers
    every join with the name of the one that left and refuses every sync, for good. Nobody gets partitions then,
    whatever a client does. What the worker or its client fails to do never looks like that: the worker has to be a
    member by the broker's list, and to join twice more while we look, and both answers have to contradict that list.
    """
    if not worker.is_running:
        return None
    told = JOINED.findall(worker.output())
    if not told or told[-1][0] == told[-1][1]:
        return None
    before = broker.wire.members(group)
    if told[-1][0].decode() in before:
        return None
    # The first answer may have been on its way when the list was made, the second was not.
    wanted = len(told) + 2
    deadline = time.monotonic() + ANSWERS_SECONDS
    while len(told) < wanted:
        if time.monotonic() > deadline or not worker.is_running:
            return None
        time.sleep(0.3)
        told = JOINED.findall(worker.output())
    after = broker.wire.members(group)
    (leader, own), (first, _) = ([each.decode() for each in pair] for pair in (told[wanted - 1], told[wanted - 2]))
    return leader if own in before & after and leader == first and leader not in before | after else None

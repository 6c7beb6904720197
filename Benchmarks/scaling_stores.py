"""Simulates a store for each partition, for Benchmarks/scaling: processes on servers share the partitions of a group.

Between two events of the group each partition's rate is constant, so the simulation goes from event to event: a
failure, a step of a rebalance, an opened store, a backlog that ends. A chunk's commit is a part of its events' cost.
"""

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass, field

# chunk.maxMilliseconds, chunk.maxOperations and chunk.maxBacklogOperations, with an operation for each event.
PAUSE, CHUNK, LARGE_CHUNK = 0.2, 500, 20_000
BIN = 0.1


def setting(default, text):
    return field(default=default, metadata={"help": text})


@dataclass
class Setting:
    """What is simulated; Benchmarks/scaling has an option for each but the assignor."""

    partitions: int = setting(1000, "partitions, each with a store")
    servers: int = setting(50, "servers with a process each")
    cores: float = setting(2.0, "cores of a server")
    event: float = setting(12.0, "processor time of an event of a backlog, in all threads, microseconds")
    own: float = setting(7.3, "the part of it that the worker's one thread takes, microseconds: it bounds a partition")
    commit: float = setting(3.0, "processor time of a commit beside its events, ms")
    rest: float = setting(0.002, "share of a core that each store takes that keeps up")
    skew: float = setting(0.5, "the k-th partition has a load of 1 / k to this power")
    load: float = setting(0.25, "events that come, as a share of what all cores do")
    failures: float = setting(20.0, "failures an hour, of all servers together")
    planned: float = setting(0.5, "the share of failures that are SIGTERM")
    away: float = setting(60.0, "seconds until a server is back")
    session: float = setting(45.0, "session.timeout.ms, in seconds")
    heartbeat: float = setting(3.0, "heartbeat.interval.ms, in seconds: members notice a rebalance with the next one")
    join: float = setting(5.1, "seconds from the first member that joins anew to the assignment")
    lease: float = setting(10.0, "lease.ttlSeconds")
    drain: float = setting(0.5, "seconds from SIGTERM until the group is left")
    open: float = setting(0.2, "seconds from the assignment to the first commit")
    assignor: str = setting("range", "partition.assignment.strategy")
    hours: float = setting(1.0, "simulated time")
    seed: int = setting(1, "of the loads and of the failures")

    @property
    def cost(self):
        """Processor seconds of an event of a backlog."""
        return self.event / 1e6 + self.commit / 1e3 / LARGE_CHUNK

    @property
    def most_cores(self):
        """The cores that one partition keeps busy: the worker's thread takes one, its client's threads some beside."""
        return self.event / self.own


def fair_share(wants, cores):
    """The most that one of these gets, where none gets more than it wants, and all together have the cores."""
    left = len(wants)
    for want in sorted(wants):
        if want * left >= cores:
            return cores / left
        cores, left = cores - want, left - 1
    return float("inf")


class Member:
    """A process in the group; a server that comes back is a new one."""

    def __init__(self, order):
        self.order, self.is_alive, self.held, self.opening, self.version = order, True, set(), {}, 0


class Simulation:
    def __init__(self, setting):
        self.setting, self.chance = setting, random.Random(setting.seed)
        self.now, self.queue, self.number = 0.0, [], 0
        count = setting.partitions
        weights = [1 / (rank + 1) ** setting.skew for rank in range(count)]
        self.chance.shuffle(weights)
        capacity = setting.servers * setting.cores / setting.cost
        self.arrival = [setting.load * capacity * weight / sum(weights) for weight in weights]
        self.backlog, self.rate, self.at = [0.0] * count, [0.0] * count, [0.0] * count
        self.closed = {partition: (0.0, None) for partition in range(count)}  # since when, and why
        self.leased, self.done = [0.0] * count, 0.0
        self.lags, self.worst, self.still, self.stops = defaultdict(float), 0.0, 0.0, defaultdict(list)
        self.members = [Member(self.chance.random()) for _ in range(setting.servers)]
        self.owner, self.waiting, self.first_join, self.round = [None] * count, None, None, 0

    def later(self, seconds, action, *values):
        self.number += 1
        heapq.heappush(self.queue, (self.now + seconds, self.number, action, values))

    def run(self):
        self.assign_all()
        for member in self.members:
            self.open(member, [p for p, owner in enumerate(self.owner) if owner is member], None)
        if self.setting.failures:
            self.later(self.chance.expovariate(self.setting.failures / 3600), self.fail)
        while self.queue and self.queue[0][0] <= self.setting.hours * 3600:
            self.now, _, action, values = heapq.heappop(self.queue)
            action(*values)
        self.now = self.setting.hours * 3600
        for partition in range(self.setting.partitions):
            self.settle(partition)
        self.still += sum(self.now - since for since, _ in self.closed.values())
        return self

    # Partitions of a process

    def settle(self, partition):
        """Brings a partition to now. The lag is the age of its oldest record that is not committed."""
        span, arrival = self.now - self.at[partition], self.arrival[partition]
        if span <= 0:
            return
        before = self.backlog[partition]
        after = max(0.0, before + (arrival - self.rate[partition]) * span)
        self.backlog[partition], self.at[partition] = after, self.now
        self.done += before + arrival * span - after
        low, high = sorted((before / arrival, after / arrival))
        # A worker that keeps up commits after a pause.
        low, high = max(low, PAUSE), max(high, PAUSE)
        self.worst = max(self.worst, high)
        first, last = int(low / BIN), int(high / BIN)
        for each in range(first, last + 1):
            self.lags[each] += span / (last - first + 1)

    def want(self, partition):
        if self.backlog[partition] > 1e-6:
            return self.setting.most_cores
        arrival = self.arrival[partition]
        chunks = max(min(arrival, 1 / PAUSE), arrival / CHUNK)
        used = arrival * self.setting.event / 1e6 + chunks * self.setting.commit / 1e3 + self.setting.rest
        return min(self.setting.most_cores, used)

    def share(self, member):
        """Gives the cores of a server to its partitions anew."""
        member.version += 1
        held = sorted(member.held)
        for partition in held:
            self.settle(partition)
        wants = [self.want(partition) for partition in held]
        most, next_end = fair_share(wants, self.setting.cores), None
        for partition, want in zip(held, wants):
            arrival, backlog = self.arrival[partition], self.backlog[partition]
            able = min(want, most) / self.setting.cost
            # Where the cores are short, chunks grow, and cost less: a worker that can keep up so keeps up.
            self.rate[partition] = able if backlog > 1e-6 or able < arrival else arrival
            if backlog > 1e-6 and able > arrival:
                end = backlog / (able - arrival)
                next_end = end if next_end is None else min(end, next_end)
        if next_end is not None:
            # Backlogs that end at almost the same time end together.
            self.later(next_end + 1e-3, self.end_backlog, member, member.version)

    def end_backlog(self, member, version):
        if member.version == version:
            self.share(member)

    def close(self, member, partitions, why):
        for partition in partitions:
            member.opening.pop(partition, None)
            if partition in member.held:
                self.settle(partition)
                member.held.discard(partition)
                self.rate[partition] = 0.0
                self.closed[partition] = (self.now, why)
        self.share(member)

    def open(self, member, partitions, turn):
        for partition in partitions:
            if turn is None or member.opening.get(partition) == turn:
                member.opening.pop(partition, None)
                self.settle(partition)
                member.held.add(partition)
                since, why = self.closed.pop(partition)
                self.still += self.now - since
                if why:
                    self.stops[why].append(self.now - since)
        if member.is_alive:
            self.share(member)

    # Servers

    def fail(self):
        """A server ends, by SIGTERM or for itself."""
        self.later(self.chance.expovariate(self.setting.failures / 3600), self.fail)
        alive = [member for member in self.members if member.is_alive]
        if len(alive) > 1:
            self.end(self.chance.choice(alive), self.chance.random() < self.setting.planned)

    def end(self, member, is_planned):
        if not is_planned:
            for partition in member.held:
                self.leased[partition] = self.now + self.setting.lease
        self.close(member, list(member.held | set(member.opening)), "SIGTERM" if is_planned else "kill")
        member.is_alive = False
        silent = self.setting.session - self.chance.uniform(0, self.setting.heartbeat)
        self.later(self.setting.drain if is_planned else silent, self.leave, member)
        self.later(self.setting.away, self.come)

    # The group

    def leave(self, member):
        self.members.remove(member)
        if self.waiting is None:
            self.rebalance()
        else:
            self.waiting.discard(member)
            self.complete()

    def come(self):
        member = Member(self.chance.random())
        self.members.append(member)
        if self.waiting is None:
            self.rebalance()
        else:
            self.waiting.add(member)
        self.later(0, self.joins, member, self.round)

    def rebalance(self):
        self.round, self.waiting, self.first_join = self.round + 1, set(self.members), None
        for member in self.members:
            self.later(self.chance.uniform(0, self.setting.heartbeat), self.joins, member, self.round)

    def joins(self, member, number):
        """A dead member does not join, so the others wait for the end of its session."""
        if number != self.round or self.waiting is None or member not in self.waiting or not member.is_alive:
            return
        if self.setting.assignor == "range":
            self.close(member, list(member.held | set(member.opening)), "rebalance")
        self.waiting.discard(member)
        self.first_join = self.now if self.first_join is None else self.first_join
        self.complete()

    def complete(self):
        if not self.waiting and self.first_join is not None:
            self.later(max(0.0, self.first_join + self.setting.join - self.now), self.assign, self.round)

    def assign(self, number):
        if number != self.round or self.waiting is None or self.waiting:
            return
        self.waiting = None
        moving = self.assign_all()
        for member in self.members:
            if member.is_alive:
                self.start(member)
        if moving:
            for partition, member in moving:
                self.close(member, [partition], "rebalance")
            self.rebalance()

    def start(self, member):
        ready = defaultdict(list)
        for partition, owner in enumerate(self.owner):
            if owner is not member or partition in member.held or partition in member.opening:
                continue
            # The supervisor tries again after waits that double, until the lease has ended.
            at, wait = self.now, 0.5
            while at < self.leased[partition]:
                at, wait = at + wait, min(30.0, 2 * wait)
            member.opening[partition] = self.round
            ready[at].append(partition)
        for at, partitions in ready.items():
            self.later(at - self.now + self.setting.open, self.open, member, partitions, self.round)

    def assign_all(self):
        """Shares the partitions out. The cooperative assignor takes those that others are to have, and gives them away
        in the next round: it returns them, with their members."""
        members, count = sorted(self.members, key=lambda member: member.order), self.setting.partitions
        if self.setting.assignor == "range":
            for partition in range(count):
                self.owner[partition] = members[partition * len(members) // count]
            return []
        own = {member: [] for member in members}
        for partition, owner in enumerate(self.owner):
            if owner in own:
                own[owner].append(partition)
        heap = [(len(own[member]), place) for place, member in enumerate(members)]
        heapq.heapify(heap)
        for partition, owner in enumerate(self.owner):
            if owner not in own:
                held, place = heapq.heappop(heap)
                own[members[place]].append(partition)
                self.owner[partition] = members[place]
                heapq.heappush(heap, (held + 1, place))
        (least, more), moving = divmod(count, len(members)), []
        for place, member in enumerate(sorted(members, key=lambda member: -len(own[member]))):
            for partition in own[member][least + (place < more):]:
                self.owner[partition] = None
                moving.append((partition, member))
        return moving

    # Figures

    def lag(self, share):
        """The lag that this share of the time of all partitions is not above."""
        left = share * sum(self.lags.values())
        for each in sorted(self.lags):
            left -= self.lags[each]
            if left <= 0:
                return (each + 1) * BIN
        return 0.0

    @property
    def events(self):
        return self.done / self.now

    @property
    def still_share(self):
        return self.still / self.setting.partitions / self.now

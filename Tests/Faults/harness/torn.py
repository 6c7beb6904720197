"""Scenario of a damaged write-ahead log: cut at and beside the bounds of frames, cut within them, and with bytes flipped.

The log is one that no checkpoint has begun to carry over: it holds all that is newer than the store's file. SQLite tells
a frame by a checksum over all frames before it, so such a log ends, for a reader, with the last whole transaction
before the damage. (Of a log that is carried over already, damage may bring older pages back over newer ones, which no
reader of SQLite notices; a power loss does not do that, for the log is synced first.)
"""

import os
import random
import shutil
import struct

from . import canonical
from .bench import Bench, has_tables
from .checks import Broken
from .kills import rounds
from .outages import ready_worker

HEADER, FRAME = 32, 24


def torn(report, options, seed, cycles):
    """A cycle is a damage: what is left is the oracle's state at the store's positions; now and then the worker goes on
    from there to the end."""
    for sub, count in rounds(seed, cycles, 100):
        events = options.events or 2500
        with report.round(sub), Bench(options, sub, events // 4, size=300) as bench:
            chance = random.Random(f"torn/{sub}")
            worker = ready_worker(bench, "chunk.maxOperations=20", "commit.maxRows=20", group="first")
            bench.wait_position(worker, bench.total, 60)
            bench.end(worker)  # what was read so far is in the store's file
            bench.produce(events - events // 4)  # only now: the first worker may be ahead of the harness's look
            worker = bench.start("chunk.maxOperations=5", "commit.maxRows=5", group="second")
            bench.wait_position(worker, events // 4 + chance.randrange(50, 1000), 60)
            worker.kill()
            bench.check_dead()
            kept = keep(bench)
            damages = bounds(kept[1], chance, count)
            for number, damage in enumerate(damages):
                restore(bench, kept)
                what = damage(bench.store + "-wal")
                try:
                    before = check_damaged(bench)
                    if number % 20 == 19:
                        bench.finish(group=f"on-{number}", notifications="none")
                except Broken as broken:
                    raise Broken(broken.invariant, f"the log was {what}: {broken}") from None
                report.add("transactions lost", int(before < kept[2]))
                report.cycle()
            report.worst(bench.worst)


def keep(bench):
    """Sets store and log aside; returns the store's copy, the log's bytes, and the position."""
    copy = os.path.join(bench.folder, "kept.sqlite")
    shutil.copyfile(bench.store, copy)
    with open(bench.store + "-wal", "rb") as file:
        log = file.read()
    page = struct.unpack(">I", log[8:12])[0]
    # The kill may have come between a frame's header and its page; SQLite passes over such an end.
    log = log[:len(log) - (len(log) - HEADER) % (page + FRAME)]
    if len(log) < HEADER + 20 * (page + FRAME):
        raise RuntimeError(f"the log has {len(log)} bytes, which are too few frames")
    return copy, log, bench.position()


def restore(bench, kept):
    for suffix in ("-wal", "-shm", "-suspect"):
        if os.path.exists(bench.store + suffix):
            os.remove(bench.store + suffix)
    shutil.copyfile(kept[0], bench.store)
    with open(bench.store + "-wal", "wb") as file:
        file.write(kept[1])
    bench.expectation.restart()
    bench.expectation.forget_history()


def bounds(log, chance, count):
    """So many damages of a log: all that are at the bounds of its frames if there is room, and others at random."""
    size = struct.unpack(">I", log[8:12])[0] + FRAME
    frames = (len(log) - HEADER) // size
    exact = [cut(HEADER + frame * size + beside) for frame in range(frames) for beside in (-1, 0, 1)]
    chance.shuffle(exact)
    made = [cut(0), cut(HEADER - 1), flip([chance.randrange(HEADER)], 1)] + exact[:max(1, count // 2)]
    while len(made) < count:
        frame = HEADER + chance.randrange(frames) * size
        made.append(chance.choice([
            lambda: cut(frame + chance.randrange(size)),
            lambda: flip([frame + chance.randrange(FRAME)], 1 << chance.randrange(8)),
            lambda: flip([frame + FRAME + chance.randrange(size - FRAME)], 1 << chance.randrange(8)),
            lambda: flip(range(frame + FRAME, frame + size), chance.randrange(1, 256)),
            lambda: flip(chance.sample(range(HEADER, len(log)), 5), chance.randrange(1, 256)),
        ])())
    return made[:count]


def cut(length):
    def damage(path):
        os.truncate(path, length)
        return f"cut at {length}"
    return damage


def flip(places, bits):
    def damage(path):
        with open(path, "r+b") as file:
            for place in places:
                file.seek(place)
                byte = file.read(1)[0]
                file.seek(place)
                file.write(bytes([byte ^ bits]))
        return f"flipped by {bits:#x} at {min(places)} to {max(places)}, {len(places)} bytes"
    return damage


def check_damaged(bench):
    """The harness's reader and the program find the same whole state; returns its position."""
    copy = canonical.copy_store(bench.store, bench.folder)
    if not has_tables(copy):
        raise Broken("I2", "the store has no tables, which its file had before the log began")
    positions = bench.expectation.check(copy, may_go_back=True)
    bench.expectation.check_dump(bench.options.binary, bench.config)
    return sum(positions.values())

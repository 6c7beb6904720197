"""The harness's end of shim.c: compiles it, and writes the orders that a process finds in its control file."""

import errno
import mmap
import os
import shutil
import struct
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "shim.c")
STEPS = [
    "log-first-frame", "log-between-frames", "log-torn-frame", "log-before-commit-frame", "log-torn-commit-frame",
    "log-after-commit-frame", "checkpoint-before-log-sync", "checkpoint-after-log-sync", "checkpoint-between-pages",
    "checkpoint-torn-page", "checkpoint-before-store-sync", "checkpoint-after-store-sync", "log-restart",
    "log-after-restart", "offsets-before-commit", "offsets-after-commit", "notification-before-send",
    "notification-after-send", "cursor-before-save", "cursor-after-save", "lease-take", "transaction-before-token",
    "transaction-before-commit", "transaction-after-commit", "revoke-begin", "revoke-saved", "revoke-done", "any-operation",
]
MANNERS = ["kill", "lose-all", "lose-some", "garble-some", "stop"]
OPERATIONS = {"write": 1, "sync": 2, "truncate": 4, "open": 8, "read": 16}
FILES = {"store": 2, "log": 4, "index": 8}
BUGS = ["", "offsets-ahead", "position-lost", "dead-letter-lost", "history-lost", "leak", "binding-lost"]
LIBRARIES = ["", "sqlite", "librdkafka", "libpq", "libjq", "simdjson"]
LAYOUT = struct.Struct("<IIqIIIiqqQIIq")
FIRED = LAYOUT.size
MEMORY_LAYOUT = struct.Struct("<qqqqq")
MEMORY = FIRED + 16 + 8 * 32


def compiled(folder):
    """Returns the compiled shim, made when it is missing or older than its source."""
    target = os.path.join(folder, "shim.so")
    if os.path.exists(target) and os.path.getmtime(target) > os.path.getmtime(SOURCE):
        return target
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise SystemExit("The faults need a C compiler for Tests/Faults/shim.c: install gcc or clang.")
    os.makedirs(folder, exist_ok=True)
    fresh = f"{target}.{os.getpid()}"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", fresh, SOURCE, "-ldl", "-lpthread"], check=True)
    os.replace(fresh, target)
    return target


class Shim:
    """Orders for one store's processes. They hold for a process that runs and for those started later."""

    def __init__(self, library, folder, store):
        self.library, self.store = library, store
        self.path = os.path.join(folder, "control")
        with open(self.path, "wb") as file:
            file.write(bytes(4096))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)
        self.redirect = None
        self.clock = 0
        self.clear()

    def environment(self):
        found = {"LD_PRELOAD": self.library, "FAULT_CONTROL": self.path, "FAULT_STORE": self.store}
        if self.redirect:
            found["FAULT_REDIRECT"] = "%d:%d" % self.redirect
        return found

    def clear(self):
        self.order()
        self.deny("")

    def deny(self, library, first=1, times=0):
        """Lets allocations of a library fail in processes that start from now on, and counts them anew."""
        MEMORY_LAYOUT.pack_into(self.map, MEMORY, LIBRARIES.index(library), first, times, 0, 0)

    @property
    def allocations(self):
        return struct.unpack_from("<q", self.map, MEMORY + 24)[0]

    @property
    def denied(self):
        return struct.unpack_from("<q", self.map, MEMORY + 32)[0]

    def order(self, step="", at=1, manner="kill", mode=0, operations=(), files=(), error=0, skip=0, times=-1, seed=1,
              bug=""):
        """Writes an order; the one before is forgotten, counts stay."""
        self.map[:LAYOUT.size] = LAYOUT.pack(
            STEPS.index(step) + 1 if step else 0, MANNERS.index(manner), at, mode,
            sum(OPERATIONS[each] for each in operations), sum(FILES[each] for each in files), error, skip, times, seed,
            BUGS.index(bug), 0, self.clock)

    def set_clock(self, seconds):
        """Shifts the clock that the program sees, at once."""
        self.clock = seconds
        struct.pack_into("<q", self.map, LAYOUT.size - 8, seconds)

    def fail(self, error, operations, files, skip=0, times=-1):
        self.order(mode=1, operations=operations, files=files, error=getattr(errno, error), skip=skip, times=times)

    def shorten(self, files, skip=0, times=-1):
        """Writes half of what is asked for."""
        self.order(mode=2, operations=("write",), files=files, skip=skip, times=times)

    @property
    def is_armed(self):
        return struct.unpack_from("<I", self.map)[0] != 0

    @property
    def fired(self):
        return struct.unpack_from("<Q", self.map, FIRED)[0]

    @property
    def failed(self):
        return struct.unpack_from("<Q", self.map, FIRED + 8)[0]

    def count(self, step):
        return struct.unpack_from("<Q", self.map, FIRED + 16 + 8 * (STEPS.index(step) + 1))[0]

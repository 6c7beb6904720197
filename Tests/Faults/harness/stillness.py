"""Notices that nothing moves any more, and so never ends a wait on a machine that is merely slow.

Time counts only while no thread of a process, or of a process below it, runs or waits for a processor or a disk.
Progress of a watched value starts the count again. Tests/TestSupport/Stillness.swift is the same in Swift.
"""

import os
import subprocess
import threading
import time

LIMIT_SECONDS = 120.0
# The time between two looks. A look that came late counts as this, for a machine that was suspended.
BETWEEN_LOOKS_SECONDS = 0.2


class Stillness:
    def __init__(self, process=None, limit_seconds=LIMIT_SECONDS):
        self.process, self.limit_seconds = process or os.getpid(), limit_seconds
        self.last_look, self.still_seconds, self.progress = time.monotonic(), 0.0, None

    def is_too_long(self, progress=None):
        """Looks whether something has moved, and tells whether nothing has for too long."""
        elapsed = time.monotonic() - self.last_look
        if elapsed < BETWEEN_LOOKS_SECONDS:
            return False
        self.last_look += elapsed
        if progress != self.progress:
            self.progress, self.still_seconds = progress, 0.0
        if not something_moves(self.process):
            # A caller may look seldom; a machine that was suspended counts little.
            self.still_seconds += min(elapsed, 5 * BETWEEN_LOOKS_SECONDS)
        return self.still_seconds > self.limit_seconds


def something_moves(process):
    """Whether a thread of a process but the present one, or of a process below it, is at work or would be."""
    own, processes, below = str(threading.get_native_id()), [str(process)], children()
    while processes:
        process = processes.pop()
        for task in entries(f"/proc/{process}/task"):
            if task != own and statistics(f"/proc/{process}/task/{task}")[:1] in (["R"], ["D"]):
                return True
        processes += below.get(process, [])
    return False


def children():
    """The processes below each process. Not every kernel lists them with their parent."""
    found = {}
    for process in filter(str.isdigit, entries("/proc")):
        fields = statistics(f"/proc/{process}")
        if len(fields) > 1:
            found.setdefault(fields[1], []).append(process)
    return found


def statistics(folder):
    """The fields behind the name of a process or a thread, which may have parentheses: state, parent and others."""
    return read(f"{folder}/stat").rpartition(")")[2].split()


def entries(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []  # it has ended


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # a thread may end between two reads


def communicate(process, limit_seconds=LIMIT_SECONDS):
    """Returns the output of a process that has ended; kills one that hangs, and raises subprocess.TimeoutExpired."""
    stillness = Stillness(process.pid, limit_seconds)
    while True:
        try:
            return process.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired:
            if stillness.is_too_long():
                process.kill()
                process.communicate()
                raise

"""What each framework is given to call: the store of Benchmarks/peer, an upsert for each event, a commit for 5,000.

A consumer is called with BROKER TOPIC PATTERN STORE COUNT, and ends when COUNT events are committed.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys


def loaded_peer():
    path = str(pathlib.Path(__file__).resolve().parent.parent / "peer")
    loader = importlib.machinery.SourceFileLoader("peer", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("peer", loader))
    loader.exec_module(module)
    return module


class Sink:
    """Applies events to a store and commits them in groups; at the last one it ends the process."""

    def __init__(self):
        self.broker, self.topic, self.pattern, self.path, count = sys.argv[1:]
        self.peer, self.store = loaded_peer(), None
        self.count, self.number = int(count), 0

    def take(self, event):
        if self.store is None:
            # A connection belongs to its thread, and each framework calls from another one.
            self.store = self.peer.opened(self.pattern, self.path)
            self.store.execute("BEGIN")
        self.peer.apply(self.store, event)
        self.number += 1
        if self.number % self.peer.GROUP == 0 or self.number == self.count:
            self.peer.commit(self.store, self.topic, self.number)
            if self.number == self.count:
                self.store.close()
                # Frameworks take seconds to leave their group; that is no work of theirs.
                os._exit(0)
            self.store.execute("BEGIN")

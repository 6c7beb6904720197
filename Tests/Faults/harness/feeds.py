"""Readers of the change feed, and what they must have seen: all that the topic of notifications tells."""

import http.client
import json
import random
import threading

from .checks import Broken, place_of


class FeedReader(threading.Thread):
    """Follows /changes of whichever worker runs, from a token to the next; keeps what it got, in runs without a gap."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.chance = port, random.Random(seed)
        self.ending = threading.Event()
        self.token = None
        self.runs = [[None, []]]  # the token that a run goes on after, and its events
        self.expired = self.pages = 0
        self.expected = {"history.expired"}  # why a token may not be served
        self.problem = None

    def run(self):
        while not self.ending.is_set():
            try:
                if not self.page():
                    self.ending.wait(0.05)
            except (OSError, http.client.HTTPException, TypeError):
                self.ending.wait(0.1)  # no worker at the moment
            except ValueError as error:
                self.problem = f"a page is no JSON: {error}"
                return

    def page(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=10)
        try:
            after = "" if self.token is None else f"after={self.token}&"
            connection.request("GET", f"/changes?{after}limit={self.chance.choice([1, 10, 100, 1000])}&wait=2")
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 410:
                code = json.loads(body).get("code")
                if code not in self.expected:
                    self.problem = f"410 {code} at {self.token}"
                self.expired += 1
                self.token = None
                self.runs.append([None, []])
                return True
            if answer.status != 200:
                return False
            self.pages += 1
            self.take(json.loads(body), answer.headers["Ingest-Token"])
            if self.chance.random() < 0.02:
                self.ending.wait(self.chance.uniform(0, 3))  # absent for a while
            return True
        finally:
            connection.close()

    def take(self, events, token):
        run = self.runs[-1]
        if self.token is None:
            epoch, first = place_of(events[0]["data"]) if events else place(token)
            run[0] = (epoch, first - 1) if events else (epoch, first)
        reached = place_of(run[1][-1]["data"]) if run[1] else run[0]
        for event in events:
            if place_of(event["data"]) <= reached:
                self.problem = f"token {place_of(event['data'])} came after {reached}"
            reached = place_of(event["data"])
        if place(token) < reached:
            self.problem = f"the page's token {token} is before its last event's, {reached}"
        run[1].extend(events)
        self.token = token

    def stop(self):
        self.ending.set()
        self.join(20)


def place(token):
    """The epoch and the number of a token."""
    number, _, epoch = token.rpartition(":")[2].partition("@")
    return int(epoch or 0), int(number)


def check_feed(reader, told, forks=None):
    """I4: each run of a feed reader has the transactions that were notified between its tokens, all and alike. `told`
    is by epoch and token what the topic has; `forks` tells which of them were lost. Returns how many were compared."""
    if reader.problem:
        raise Broken("I4", f"the feed: {reader.problem}")
    compared = 0
    for after, events in reader.runs:
        if not events:
            continue
        last = place_of(events[-1]["data"])
        found = {place_of(event["data"]): event["data"]["changes"] for event in events}
        if forks:
            # What the old server lost may have reached the feed and not yet the topic.
            found = {token: changes for token, changes in found.items() if token in told or not forks.has_lost(token)}
        wanted = {token: changes for token, changes in told.items()
                  if after < token <= last and not (forks and forks.has_lost(token, before=last[0]))}
        if found != wanted:
            some = sorted(token for token in found.keys() | wanted.keys() if found.get(token) != wanted.get(token))[:3]
            raise Broken("I4", f"the feed after {after} to {last} and the notifications differ at tokens {some}")
        compared += len(found)
    return compared

"""Readers of the change feed, and what they must have seen: all that the topic of notifications tells."""

import http.client
import json
import random
import threading

from .checks import Broken


class FeedReader(threading.Thread):
    """Follows /changes of whichever worker runs, from a token to the next; keeps what it got, in runs without a gap."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.chance = port, random.Random(seed)
        self.ending = threading.Event()
        self.token = None
        self.runs = [[None, []]]  # the token that a run goes on after, and its events
        self.expired = self.pages = 0
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
                if code != "history.expired":
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
            run[0] = events[0]["data"]["token"] - 1 if events else number(token)
        reached = run[1][-1]["data"]["token"] if run[1] else run[0]
        for event in events:
            if event["data"]["token"] <= reached:
                self.problem = f"token {event['data']['token']} came after {reached}"
            reached = event["data"]["token"]
        if number(token) < reached:
            self.problem = f"the page's token {token} is before its last event's, {reached}"
        run[1].extend(events)
        self.token = token

    def stop(self):
        self.ending.set()
        self.join(20)


def number(token):
    return int(token.rpartition(":")[2])


def check_feed(reader, told):
    """I4: each run of a feed reader has the transactions that were notified between its tokens, all and alike. `told`
    is by token what the topic has. Returns how many were compared."""
    if reader.problem:
        raise Broken("I4", f"the feed: {reader.problem}")
    compared = 0
    for after, events in reader.runs:
        if not events:
            continue
        last = events[-1]["data"]["token"]
        found = {event["data"]["token"]: event["data"]["changes"] for event in events}
        wanted = {token: changes for token, changes in told.items() if after < token <= last}
        if found != wanted:
            some = sorted(token for token in found.keys() | wanted.keys() if found.get(token) != wanted.get(token))[:3]
            raise Broken("I4", f"the feed after {after} to {last} and the notifications differ at tokens {some}")
        compared += len(found)
    return compared

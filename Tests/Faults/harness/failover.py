"""Scenarios of streaming standbys: the primary is killed and a standby takes its place."""

import random
import time

from . import checks
from .checks import Broken
from .feeds import FeedReader, check_feed
from .kills import rounds
from .postgres import feed
from .servers import Server
from .serverstore import SCHEMA, ServerBench

READ_WRITE = "?target_session_attrs=read-write"


def postgres_failover(report, options, seed, cycles):
    """The primary dies, and its synchronous standby is promoted: nothing that was committed is lost."""
    for number, (sub, _) in enumerate(rounds(seed, cycles, 1)):
        with report.round(sub):
            failover(report, options, sub, is_synchronous=True, writers=[4, 1][number % 2])
            report.cycle()


def postgres_failover_lag(report, options, seed, cycles):
    """The primary dies, and a standby that lags is promoted: the workers go back to its positions."""
    for number, (sub, _) in enumerate(rounds(seed, cycles, 1)):
        with report.round(sub):
            failover(report, options, sub, is_synchronous=False, writers=[4, 1][number % 2])
            report.cycle()


def failover(report, options, sub, is_synchronous, writers):
    chance = random.Random(f"failover/{sub}")
    primary = Server()
    standby = Server("standby", primary)
    try:
        url = primary.url(standby) + READ_WRITE
        with ServerBench(options, sub, options.events or 10_000, server=primary, url=url, writers=writers,
                         many=writers > 1) as bench:
            if is_synchronous:
                primary.set("synchronous_standby_names", "standby")
            bench.start_all()
            reader = FeedReader(lambda: port_of(bench), sub)
            reader.expected = {"history.forked", "history.token_ahead"}
            reader.start()
            bench.await_progress(2000)
            lost = one_failover(bench, primary, standby, chance, is_synchronous)
            report.add("records read again", lost)
            if is_synchronous and lost:
                raise Broken("I2", f"{lost} records that were committed on a synchronous standby are gone")
            if not is_synchronous and not lost:
                raise Broken("harness", "the standby did not lag")
            bench.await_progress(bench.total)
            reader.stop()
            bench.finish_all()
            check_readers(report, bench, reader, lost)
            report.worst(bench.worst)
    finally:
        standby.close()
        primary.close()


def port_of(bench):
    worker = next(worker for worker in bench.members if worker.is_running)
    worker.get("/livez")
    return worker.port


def check_readers(report, bench, reader, lost):
    """What readers learn: an epoch begins, the feed has no gap, and the topic tells again what was lost."""
    told = checks.changes_told(bench.broker.read(bench.changes)[0])
    with bench.open_store() as store:
        forks = checks.Forks(store)
    if len(forks.forks) != 1 or max(told)[0] != forks.forks[0][0]:
        raise Broken("I4", f"the epochs are {forks.forks}, the last notification is {max(told)}")
    again = sum(map(forks.has_lost, told))
    if again and not lost:
        raise Broken("I4", f"{again} notifications tell of transactions that were lost, and nothing was")
    report.add("numbers notified again", again)
    report.add("transactions of the feed", check_feed(reader, told, forks))
    report.add("readers of the feed sent back", reader.expired)


def answer(worker, path):
    """The first answer that is not "try again later": a reader's connection may still be the one to the old server."""
    end = time.monotonic() + 30
    while True:
        status, body = worker.get(path, 10)
        if status != 503 or time.monotonic() > end:
            return status, body
        time.sleep(0.1)


def check_token(bench, token):
    """A reader that has seen the last transactions of the old server is told that they are lost."""
    for worker in bench.members:
        status, body = answer(worker, f"/changes?after={token}")
        if status != 410 or "history.forked" not in body:
            raise Broken("I4", f"the feed after the lost token {token} answers {status}: {body[:300]}")
        identity = token.partition(":")[0]
        status, body = answer(worker, f"/changes?after={identity}:1&limit=1")
        if status != 200:
            raise Broken("I4", f"the feed after a token of both servers answers {status}: {body[:300]}")


def one_failover(bench, primary, standby, chance, is_synchronous):
    """Kills the primary and promotes the standby; returns how many records were committed and are gone."""
    if not is_synchronous:
        standby.set("primary_conninfo", "")  # as a line that is cut: later commits do not reach the standby
        bench.await_progress(1500)
    feed(bench, chance)
    time.sleep(chance.uniform(0, 1))
    before = bench.position()
    token = primary.query(f"SELECT value || ':' || token FROM {SCHEMA}._metadata, {SCHEMA}._token WHERE key = 'storeID'")
    primary.crash()
    standby.promote()
    bench.server = standby
    after = bench.position()
    feed(bench, chance)  # a fast worker had read everything: the new server has to see commits, too
    bench.await_progress()
    bench.check_live(may_go_back=True)
    if not is_synchronous:
        check_token(bench, token)
    return max(0, before - after)

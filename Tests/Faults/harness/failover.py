"""Scenarios of streaming standbys: the primary is killed and a standby takes its place."""

import random
import time

from .checks import Broken
from .kills import rounds
from .postgres import feed
from .servers import Server
from .serverstore import ServerBench

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
            bench.await_progress(2000)
            lost = one_failover(bench, primary, standby, chance, is_synchronous)
            report.add("records read again", lost)
            if is_synchronous and lost:
                raise Broken("I2", f"{lost} records that were committed on a synchronous standby are gone")
            if not is_synchronous and not lost:
                raise Broken("harness", "the standby did not lag")
            bench.finish_all(notifications="all" if is_synchronous else "none")
            report.worst(bench.worst)
    finally:
        standby.close()
        primary.close()


def one_failover(bench, primary, standby, chance, is_synchronous):
    """Kills the primary and promotes the standby; returns how many records were committed and are gone."""
    if not is_synchronous:
        standby.set("primary_conninfo", "")  # as a line that is cut: later commits do not reach the standby
        bench.await_progress(1500)
    feed(bench, chance)
    time.sleep(chance.uniform(0, 1))
    before = bench.position()
    primary.crash()
    standby.promote()
    bench.server = standby
    after = bench.position()
    bench.await_progress()
    bench.check_live(may_go_back=True)
    return max(0, before - after)

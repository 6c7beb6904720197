"""Notifications in Kafka transactions and one for each object, while worker and broker are hurt."""

import random
import time

from . import canonical, checks
from .bench import Bench
from .checks import Broken
from .kills import rounds, small_commits, turn, wait_end
from .outages import Watch, ready_worker

STEPS = ["notification-before-send", "notification-after-send", "cursor-before-save", "cursor-after-save"]
TRANSACTION_STEPS = ["transaction-before-token", "transaction-before-commit", "transaction-after-commit"]
ROUND = 8


def notifications(report, options, seed, cycles):
    """Kills, at random and at steps of the delivery, and a broker that stands still; by round in transactions, by
    object, and both."""
    for sub, count in rounds(seed, cycles, ROUND):
        transactional, by_object = [(True, False), (False, True), (True, True)][turn(sub) % 3]
        settings = (f"notifications.transactional={str(transactional).lower()}",
                    f"notifications.granularity={'object' if by_object else 'transaction'}")
        with report.round(sub), Bench(options, sub, options.events or 12_000,
                                      change_partitions=3 if by_object else 1) as bench:
            chance = random.Random(f"notify/{sub}")
            for cycle in range(count):
                if bench.total - bench.position() < 3000:
                    bench.produce(8000)
                hurt = one_stop if chance.random() < 0.35 else one_kill
                report.cycle(hurt(bench, chance, settings, f"life-{cycle}", transactional))
            bench.finish(bench.start(*settings, group="last"), notifications="none")
            report.add("notifications", check_topic(bench, transactional, by_object))
            report.worst(bench.worst)


def one_kill(bench, chance, settings, group, transactional):
    """Returns whether the step was reached."""
    settings += small_commits(chance)
    if chance.random() < 0.7:
        steps = STEPS + TRANSACTION_STEPS if transactional else STEPS
        bench.shim.order(chance.choice(steps), at=chance.choice([1, 2, chance.randrange(1, 20)]))
        reached = wait_end(bench, bench.start(*settings, group=group), 30)
        bench.shim.clear()
    else:
        worker = ready_worker(bench, *settings, group=group)
        time.sleep(chance.random())
        worker.kill()
        reached = True
    bench.check_dead(group)
    return reached


def one_stop(bench, chance, settings, group, transactional):
    worker = ready_worker(bench, *settings, "kafka.session.timeout.ms=45000", *small_commits(chance), group=group)
    time.sleep(chance.random() * 0.5)
    seconds = chance.choice([0.3, 2, 7])
    bench.broker.suspend()
    watch = Watch(bench, worker)
    watch.last(seconds)
    bench.broker.resume()
    watch.check("broker stopped", expects_truth=seconds > 6)
    if chance.random() < 0.7:
        watch.check_return()
        bench.check_live(group)
    worker.kill()
    bench.check_dead(group)
    return True


def check_topic(bench, transactional, by_object):
    """I4: what a reader of committed records sees: in order, without a gap; in transactions each once; by object the
    last of each key is the object, or nothing where it is gone. Returns the number of notifications."""
    logs = bench.broker.records(bench.changes, 3 if by_object else 1)
    told, kept, count = {}, {}, 0
    for log in logs.values():
        reader = checks.LogReader(transactional, by_object)
        for offset, key, value in log:
            kept[key] = value
            event = reader.read(offset, key, value)
            if event is not None:
                data = event["data"]
                told.setdefault(data["token"], []).extend([data] if by_object else data["changes"])
        reader.end()
        count += len(reader.seen)
    compare(bench, told)
    if by_object:
        alive = {key.decode() for key, value in kept.items() if value is not None}
        rows = {f"{name}:{identity}" for name, table in bench.expectation.oracle.tables.items() for identity in table}
        if alive != rows:
            raise Broken("I4", f"the last records of the keys are not the objects there are: {sorted(alive ^ rows)[:3]}")
    return count


def compare(bench, told):
    with canonical.StoreFile(bench.store, bench.model) as store:
        saved = {}
        for token, entity, identity, change in store.rows("SELECT token, entity, identity, change FROM _history"):
            saved.setdefault(token, []).append((entity, str(identity), change))
    for token in sorted(told.keys() | saved.keys()):
        changes = sorted((each["entity"], str(each["id"]), each["change"]) for each in told.get(token, []))
        if changes != sorted(saved.get(token, [])):
            raise Broken("I4", f"token {token} was notified as {changes[:3]}, the history has {saved.get(token, [])[:3]}")
    checks.check_told_objects(told, bench.expectation.oracle.tables)

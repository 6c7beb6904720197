"""Planted bugs, one or more for each invariant: each has to be found, as a failure of the right invariant."""

import contextlib
import http.server
import json
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor

from . import canonical, checks, feeds, lives, notify, readers, stores
from .bench import Bench, Options, has_tables
from .checks import Broken
from .partitioned import StoresBench
from .outages import SLOW, Watch, ready_worker
from .serverstore import ServerBench


def finished(options, name, count=3000):
    """A bench whose worker has read everything and ended well."""
    bench = Bench(options, name, count)
    # Chunks that grow would leave too few transactions to plant a bug among them.
    bench.finish(bench.start("chunk.maxBacklogOperations=1", group="last"))
    return bench


def edit(bench, *statements):
    connection = sqlite3.connect(bench.store)
    for statement in statements:
        if connection.execute(statement).rowcount < 1:
            raise RuntimeError(f"the planted bug changed nothing: {statement}")
    connection.commit()
    connection.close()


def wait_for(condition, seconds=30):
    """Waits until the planted bug can be seen; where it never can, the check that follows misses it."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


def has_transactions(bench):
    if not has_tables(bench.store):
        return False
    with canonical.StoreFile(bench.store, bench.model) as store:
        return store.value("SELECT max(token) FROM _history_transaction") is not None


# --- I1


def offsets_ahead(options):
    """The broker is told more than the store has."""
    with Bench(options, "offsets-ahead", 3000) as bench:
        bench.shim.order(bug="offsets-ahead")
        worker = ready_worker(bench, *SLOW, group="life")
        bench.wait_position(worker, bench.total, 60)
        wait_for(lambda: bench.broker.wire.committed("life", bench.topic, [0]).get(0, 0) > bench.total)
        worker.kill()
        bench.check_dead("life")


def position_past_the_end(options):
    with finished(options, "past-the-end") as bench:
        edit(bench, "UPDATE _position SET nextOffset = nextOffset + 7")
        bench.check_dead()


# --- I2


def edited(*statements):
    def planted(options):
        with finished(options, "edited") as bench:
            edit(bench, *statements)
            bench.expectation.forget_history()
            bench.check_dead()
    return planted


def one_event_more(options):
    """The oracle's log has an event that the worker never had."""
    with finished(options, "one-more") as bench:
        extra = {"type": "chat.created", "time": "2026-06-01T00:00:00Z", "data": {"id": "ghost", "title": "boo"}}
        bench.logs[0][100] = (100, json.dumps(extra).encode())
        bench.expectation.restart()
        bench.check_dead()


def dead_letter_lost(options):
    with Bench(options, "letter-lost", 3000, poison=0.05) as bench:
        bench.shim.order(bug="dead-letter-lost")
        bench.finish(group="last")


def lost_commits(options):
    """The store goes back to an earlier commit behind the oracle's back."""
    with Bench(options, "lost-commits", 6000) as bench:
        worker = ready_worker(bench, *SLOW, group="one")
        bench.wait_position(worker, 1000, 60)
        worker.kill()
        bench.check_dead()
        for suffix in ("", "-wal"):
            shutil.copyfile(bench.store + suffix, bench.store + suffix + ".old")
        worker = ready_worker(bench, *SLOW, group="two")
        bench.wait_position(worker, bench.total, 60)
        worker.kill()
        bench.check_dead()
        for suffix in ("", "-wal"):
            os.replace(bench.store + suffix + ".old", bench.store + suffix)
        bench.check_dead()


# --- I3


def position_lost(options):
    """Rows are committed without their position."""
    with Bench(options, "position-lost", 400) as bench:
        bench.shim.order(bug="position-lost")
        # The second chunk misses the first one's position: the worker is ready only for the moment between them.
        worker = bench.start(*SLOW, group="one")
        wait_for(lambda: has_transactions(bench))
        worker.kill()
        bench.check_dead()


def history_lost(options):
    with Bench(options, "history-lost", 3000) as bench:
        bench.shim.order(bug="history-lost")
        bench.finish(group="last", notifications="none")


# --- I4


def notifications(change):
    def planted(options):
        with finished(options, "notifications") as bench:
            log = bench.broker.read(bench.changes)[0]
            change(log)
            with bench.open_store() as store:
                checks.check_notifications(log, store)
    return planted


def altered_repeat(log):
    event = json.loads(log[2][1])
    event["data"]["changes"] = event["data"]["changes"][1:]
    log.append((len(log), json.dumps(event).encode()))


def invented(log):
    event = json.loads(log[-1][1])
    event["id"], event["data"]["token"] = "999999", 999_999
    log.append((len(log), json.dumps(event).encode()))


def swap(log):
    log[1], log[2] = log[2], log[1]


def repeated_in_a_transaction(options):
    with finished(options, "repeated") as bench:
        log = bench.broker.records(bench.changes)[0]
        bench.broker.records = lambda *_: {0: log + log[-1:]}
        notify.check_topic(bench, transactional=True, by_object=False)


def deletion_cut_off(options):
    """By object and without transactions, a deletion's null value is missing, and the deletion is not sent again."""
    with Bench(options, "cut-off", 3000, change_partitions=3) as bench:
        bench.finish(bench.start("notifications.granularity=object", group="last"), notifications="none")
        logs = bench.broker.records(bench.changes, 3)
        log = next(log for log in logs.values() if any(value is None for _, _, value in log))
        at = next(number for number, (_, _, value) in enumerate(log) if value is None)
        # As a crash would: what was sent before comes again, from the place behind the deletion's.
        log[at:at + 1] = log[:1]
        bench.broker.records = lambda *_: logs
        notify.check_topic(bench, transactional=False, by_object=True)


def feed_with_a_gap(options):
    with finished(options, "feed") as bench:
        log = bench.broker.read(bench.changes)[0]
        run = [json.loads(value) for _, value in log]
        del run[2]
        feeds.check_feed(types.SimpleNamespace(problem=None, runs=[[(0, 0), run]]), checks.changes_told(log))


def reader_of_a_wrong_count(options):
    """A reader beside the worker sees a count that is not that of the counted rows."""
    with finished(options, "reader") as bench:
        edit(bench, "UPDATE Chat SET messagesCount = messagesCount + 1 WHERE pk = (SELECT max(pk) FROM Chat)")
        processes = readers.start_readers(bench, random.Random(1))
        for process in processes:
            process.wait(60)  # they end by themselves after some problems
        for found in [readers.stop_readers(process) for process in processes]:
            readers.check_seen(found)


# --- I5


def leak(options):
    with Bench(options, "leak", 20_000) as bench:
        bench.shim.order(bug="leak")
        worker = ready_worker(bench, *SLOW, group="life")
        while bench.memory <= checks.MEMORY_MEGABYTES and worker.is_running and bench.lives == 1:
            bench.measure(worker)
            time.sleep(0.2)
            if bench.position() >= bench.total:
                bench.produce(5000)
        checks.check_bounds(bench.memory, bench.log_bytes)


# --- I6


def in_server(statement):
    """A store in PostgreSQL, changed in the transaction that the checks read."""
    def planted(options):
        with ServerBench(options, "server", 1500, writers=2, partitions=2) as bench:
            bench.start_all()
            bench.finish_all()
            bench.expectation.forget_history()
            with bench.open_store() as store:
                bench.expectation.check_open(store)
                store.change(statement)
                bench.check_tokens(store)
                bench.expectation.check_open(store)
    return planted


class AlwaysReady(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def lying_health(options):
    """The health endpoint says ready whatever happens."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), AlwaysReady)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Bench(options, "lying", 500) as bench:
            worker = ready_worker(bench, group="life")
            worker.port = server.server_address[1]
            bench.broker.suspend()
            watch = Watch(bench, worker)
            watch.last(6.5)
            bench.broker.resume()
            watch.check("broker stopped", expects_truth=True)
    finally:
        server.shutdown()


def stuck(options):
    """The worker stands still and nobody sees it."""
    with Bench(options, "stuck", 3000) as bench:
        worker = ready_worker(bench, *SLOW, group="life")
        worker.send(signal.SIGSTOP)
        bench.wait_position(worker, bench.total + 1, 3)


# --- I7


def unfenced(options):
    """The lease is given back to the worker that lost it, so that two write."""
    chance = types.SimpleNamespace(choice=lambda given: given[0], random=random.random, randrange=random.randrange)

    def meddle(bench):
        connection = sqlite3.connect(bench.store, timeout=10)
        connection.execute("UPDATE _lease SET epoch = epoch - 1")
        connection.commit()
        connection.close()
    with Bench(options, "unfenced", 3000) as bench:
        lives.one_zombie(bench, chance, 0, meddle)


def second_writer_admitted(options):
    """A second worker gets in beside a living one, because the lease is wiped out."""
    from . import outages
    with Bench(options, "second", 500) as bench:
        worker = ready_worker(bench, group="life")
        bench.wait_position(worker, bench.total, 60)
        worker.send(signal.SIGSTOP)
        connection = sqlite3.connect(bench.store, timeout=10)
        connection.execute("UPDATE _lease SET expires = 0")
        connection.commit()
        connection.close()
        outages.refuse_second(bench)


def binding_lost(options):
    """A text for which there is no memory becomes NULL."""
    from .memory import MemorySweep
    with Bench(options, "binding", 0, produce=False) as bench:
        sweep = MemorySweep(bench, "binding", 60, "sqlite")
        for index in range(100, 300, 7):
            bench.shim.order(bug="binding-lost")
            try:
                sweep.deny(index, 1)
            except Broken as broken:  # a NULL in a row, or in the history
                raise Broken("I2", str(broken)) from broken


# --- a store for each partition


def two_writers(options):
    """The leases are given back to the process that lost them, so that it writes stores that others hold."""
    chance = types.SimpleNamespace(choice=lambda given: given[0], random=random.random, randrange=random.randrange)

    def give_back(bench, former):
        for partition, state in former.items():
            try:
                with contextlib.closing(sqlite3.connect(bench.path(partition), timeout=0.2)) as connection, connection:
                    connection.execute("UPDATE _lease SET epoch = ?, holder = ?", (state["epoch"], state["holder"]))
            except sqlite3.OperationalError:
                pass  # the process that stands still has the file's lock
    with StoresBench(options, "two-writers", 6000) as bench:
        bench.start_all()
        stores.one_stop(bench, chance, give_back)


def unread_partition(options):
    """Nobody reads a partition, for somebody unknown holds its store."""
    with StoresBench(options, "unread", 600, processes=1, partitions=3) as bench:
        bench.start_all()
        bench.await_end()
        bench.end_member(0)
        with contextlib.closing(sqlite3.connect(bench.path(1))) as connection, connection:
            connection.execute(
                "UPDATE _lease SET holder = 'elsewhere|1|1|x', expires = ?", (int(time.time() + 600) * 1_000_000,))
        bench.produce(300)
        bench.start_all()
        bench.await_that(lambda: len(bench.behind()) == 1, "the other partitions are read", 30)
        bench.await_end(3)


def broadcast_skipped(options):
    """A store passes over a record of a topic that all stores read."""
    with StoresBench(options, "skipped", 600, processes=1, partitions=2, broadcast="members") as bench:
        bench.produce_broadcast(300)
        bench.start_all()
        bench.await_end()
        bench.end_member(0)
        ghost = {"type": "member.created", "time": "2026-06-01T00:00:00Z", "data": {"id": "ghost", "name": "boo"}}
        bench.broker.produce(bench.broadcast, 0, [json.dumps(ghost).encode()])
        bench.keep_broadcast()
        with contextlib.closing(sqlite3.connect(bench.path(1))) as connection, connection:
            connection.execute("UPDATE _position SET nextOffset = nextOffset + 1 WHERE topic = 'members' AND partition = 0")
        bench.check_store(1)


PLANTED = {
    "offsets-ahead": ("I1", offsets_ahead),
    "position-past-the-end": ("I1", position_past_the_end),
    "row-removed": ("I2", edited("DELETE FROM Message WHERE pk = (SELECT max(pk) FROM Message)")),
    "row-doubled": ("I2", edited("INSERT INTO Chat (id, membersCount, messagesCount, _placeholder) VALUES ('twin', 0, 0, 0)")),
    "value-changed": ("I2", edited("UPDATE Member SET name = 'nobody' WHERE pk = (SELECT max(pk) FROM Member)")),
    "count-wrong": ("I2", edited("UPDATE Chat SET messagesCount = messagesCount + 1 WHERE pk = (SELECT max(pk) FROM Chat)")),
    "dead-letter-doubled": ("I2", edited(
        "INSERT INTO _dead_letter (time, topic, partition, offset, stage, code, reason, value) "
        "SELECT time, topic, partition, offset, stage, code, reason, value FROM _dead_letter LIMIT 1")),
    "tombstone-removed": ("I2", edited("DELETE FROM _tombstone WHERE entity = 'Message'")),
    "reader-sees-wrong-count": ("I2", reader_of_a_wrong_count),
    "dead-letter-lost": ("I2", dead_letter_lost),
    "binding-lost": ("I2", binding_lost),
    "server-row-removed": ("I2", in_server('DELETE FROM "Message" WHERE pk = (SELECT max(pk) FROM "Message")')),
    "server-token-gap": ("I4", in_server("DELETE FROM _history_transaction WHERE token = (SELECT max(token) / 2 FROM _token)")),
    "one-event-more": ("I2", one_event_more),
    "commits-lost": ("I2", lost_commits),
    "position-lost": ("I3", position_lost),
    "history-lost": ("I3", history_lost),
    "history-row-removed": ("I3", edited("DELETE FROM _history_change WHERE id = (SELECT max(id) FROM _history_change "
                                         "WHERE change = 0)")),
    "history-range-removed": ("I3", edited("DELETE FROM _history_range WHERE id = (SELECT max(id) FROM _history_range "
                                           "WHERE change = 0)")),
    "notification-removed": ("I4", notifications(lambda log: log.pop(3))),
    "notification-swapped": ("I4", notifications(swap)),
    "notification-altered": ("I4", notifications(altered_repeat)),
    "notification-invented": ("I4", notifications(invented)),
    "repeated-in-transaction": ("I4", repeated_in_a_transaction),
    "deletion-cut-off": ("I4", deletion_cut_off),
    "feed-gap": ("I4", feed_with_a_gap),
    "memory-leak": ("I5", leak),
    "lying-health": ("I6", lying_health),
    "stuck-worker": ("I6", stuck),
    "lease-given-back": ("I7", unfenced),
    "second-writer": ("I7", second_writer_admitted),
    "stores-broadcast-skipped": ("I2", broadcast_skipped),
    "stores-unread-partition": ("I6", unread_partition),
    "stores-two-writers": ("I7", two_writers),
}


def one(options, name):
    """Plants a bug; returns whether it was found, and a line that says so."""
    invariant, body = PLANTED[name]
    folder = os.path.join(options.folder, "canary", name)
    os.makedirs(folder, exist_ok=True)
    began, text = time.monotonic(), ""
    try:
        body(Options(options.binary, options.brokers, folder, options.root))
        found = "nothing"
    except Broken as broken:
        found = broken.invariant
        text = str(broken)
    except Exception as error:  # a harness that breaks has found nothing
        found = f"an error of the harness: {error!r}"
    is_right = found == invariant
    shutil.rmtree(folder, ignore_errors=True)
    return is_right, (f"{'found ' if is_right else 'MISSED'} {name:24} {invariant} {time.monotonic() - began:5.1f} s  "
                      + (text.splitlines()[0][:150] if is_right else f"reported: {found} {text}"))


def run(options, names, jobs):
    """Runs the planted bugs, several at a time; 0 where every one was found."""
    missed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for is_right, line in pool.map(lambda name: one(options, name), names or PLANTED):
            missed += not is_right
            print(line, flush=True)
    print(f"\n{missed} of {len(names or PLANTED)} planted bugs were missed", flush=True)
    return 1 if missed else 0

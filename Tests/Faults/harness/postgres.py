"""Scenarios of a store in a PostgreSQL server that four workers of one group write."""

import itertools
import os
import random
import re
import signal
import subprocess
import time

from .checks import Broken
from .kills import rounds
from .report import Skipped
from .servers import APPLICATION, Failure, ForeignServer, Pooler, Server, Session, own_folder
from .serverstore import SCHEMA, ServerBench
from .stillness import Stillness

# The first statement on each of these tables is a step of a transaction; 'commit' is its end.
STEPS = ["_lease", "_token", "_position", "_fence", "_history_transaction", "_history_change", "_history_range", "_tombstone", "Chat",
         "Message", "Member", "Chat_members", "_dead_letter", "_cursor", "_sequence", "commit"]
VICTIMS = ["connection", "worker", "server"]


def feed(bench, chance):
    """More records when the workers have few left."""
    if bench.total - bench.position() < 3000:
        bench.produce(chance.randrange(4000, 8000))


# --- at random


def struck_rounds(report, options, seed, cycles, name, longest, strike):
    """Rounds in which four workers read, and a fault strikes them after up to so many records, again and again."""
    for sub, count in rounds(seed, cycles, 12):
        with report.round(sub), ServerBench(options, sub, options.events or 8000) as bench:
            chance = random.Random(f"{name}/{sub}")
            bench.start_all()
            for _ in range(count):
                feed(bench, chance)
                bench.await_progress(chance.randrange(1, longest))
                strike(bench, chance)
                bench.check_live()
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)


def postgres_kill(report, options, seed, cycles):
    """kill -9 of workers and of the server, connections that end, and workers that stand still past their fence."""
    def strike_one(bench, chance):
        one_fault(bench, chance, chance.choice(["worker", "connection", "connection", "server", "stop"]))
        bench.await_progress()

    struck_rounds(report, options, seed, cycles, "postgres", 800, strike_one)


def one_fault(bench, chance, kind):
    number = chance.randrange(bench.count)
    worker = bench.members[number]
    if kind == "worker":
        worker.kill()
        bench.check_live()
        bench.replace(number)
    elif kind == "connection":
        bench.server.terminate("random() < 0.6")
    elif kind == "server":
        bench.server.crash()
        time.sleep(chance.choice([0, 0, 2]))
        bench.server.start()
    else:
        worker.send(signal.SIGSTOP)
        # Past its session, so the others have its partitions when it goes on.
        time.sleep(chance.uniform(7, 10))
        worker.send(signal.SIGCONT)


def postgres_foreign(report, options, seed, cycles):
    """kill -9 of workers and workers that stand still, with the server that INGEST_STORE_URL names."""
    url = os.environ.get("INGEST_STORE_URL")
    if not url:
        raise SystemExit("INGEST_STORE_URL has to name a server for this scenario.")
    for sub, count in rounds(seed, cycles, 12):
        server = ForeignServer(url, SCHEMA)
        with report.round(sub), ServerBench(options, sub, options.events or 6000, server=server) as bench:
            chance = random.Random(f"foreign/{sub}")
            bench.start_all()
            for cycle in range(count):
                feed(bench, chance)
                bench.await_progress(chance.randrange(1, 600))
                one_fault(bench, chance, ["worker", "stop"][cycle % 2])
                bench.await_progress()
                bench.check_live()
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)


def postgres_versions(report, options, seed, cycles):
    """Workers of two versions share a store. One is killed again and again, and the other version takes its place."""
    if not options.other_binary:
        raise SystemExit("--other-binary has to name a program of another version for this scenario.")
    versions = itertools.cycle([options.binary, options.other_binary])
    for sub, count in rounds(seed, cycles, 12):
        with report.round(sub), ServerBench(options, sub, options.events or 6000, programs=versions) as bench:
            chance = random.Random(f"versions/{sub}")
            bench.start_all()
            for _ in range(count):
                feed(bench, chance)
                bench.await_progress(300)
                number = chance.randrange(bench.count)
                bench.members[number].kill()
                bench.replace(number)
                bench.await_progress()
                bench.check_live()
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)


# --- at each statement


def postgres_steps(report, options, seed, cycles):
    """A worker, its connection or the server is killed while a transaction stands at each of its statements, and while
    its COMMIT waits: that one has happened, and its answer is lost."""
    for sub, count in rounds(seed, cycles, len(STEPS) * len(VICTIMS)):
        with report.round(sub), ServerBench(options, sub, options.events or 8000) as bench:
            chance = random.Random(f"steps/{sub}")
            bench.start_all()
            # Killed workers hold the group up for their session, so the others come first.
            steps = [(step, victim) for victim in VICTIMS for step in STEPS]
            if count < 2 * len(STEPS):
                steps = [("commit", "connection")] + chance.sample(steps[1:2 * len(STEPS)], count - 2) + [("commit", "server")]
            for step, victim in steps:
                feed(bench, chance)
                bench.await_progress()
                reached = commit_step(bench, victim) if step == "commit" else table_step(bench, step, victim)
                bench.await_progress()
                bench.check_live()
                report.cycle(reached)
            bench.finish_all()
            report.worst(bench.worst)


def workers_by_backend(bench):
    """The workers by the process of the server that their writer talks to."""
    rows = bench.server.query(f"SELECT backend, holder FROM {SCHEMA}._writer").splitlines()
    found = {int(row.split("|")[0]): int(re.search(r"process (\d+)", row).group(1)) for row in rows}
    return {backend: number for backend, pid in found.items()
            for number, worker in enumerate(bench.members) if worker.pid == pid}


def strike(bench, victim, backend, workers):
    if victim == "connection":
        bench.server.query(f"SELECT pg_terminate_backend({backend})")
    elif victim == "server":
        bench.server.crash()
    else:
        number = workers[backend]
        bench.members[number].kill()
        return number
    return None


def table_step(bench, table, victim):
    """Holds a table so that a transaction stops at its first statement on it; tells whether one came."""
    workers = workers_by_backend(bench)
    session = Session(bench.server)
    try:
        session.ask(f'BEGIN; LOCK TABLE {SCHEMA}."{table}" IN ACCESS EXCLUSIVE MODE')
        waiting = ("SELECT a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND "
                   f"l.relation = '{SCHEMA}.\"{table}\"'::regclass AND {APPLICATION} AND a.pid = ANY('{{%s}}') LIMIT 1"
                   % ",".join(map(str, workers)))
        backend = await_number(lambda: bench.server.number(waiting), 4)
        number = strike(bench, victim, backend, workers) if backend else None
    finally:
        session.close()
    recover(bench, victim if backend else None, number)
    return backend > 0


def commit_step(bench, victim):
    """Lets COMMITs wait for a standby that never comes: they have happened, and nobody has said so."""
    workers = workers_by_backend(bench)
    bench.server.set("synchronous_standby_names", "nobody")
    waiting = f"SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = ANY('{{%s}}') LIMIT 1" % ",".join(
        map(str, workers))
    backend = await_number(lambda: bench.server.number(waiting), 10)
    number = strike(bench, victim, backend, workers) if backend else None
    if victim == "server" and backend:
        bench.server.start()
        victim = None
    bench.server.set("synchronous_standby_names", "")
    recover(bench, victim if backend else None, number)
    return backend > 0


def await_number(ask, seconds):
    deadline = time.monotonic() + seconds
    while not (found := ask()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def recover(bench, victim, number):
    if victim == "server":
        bench.server.start()
    elif number is not None:
        bench.check_live()
        bench.replace(number)


# --- members that come and go


def postgres_storm(report, options, seed, cycles):
    """Workers of one store come and go, by SIGTERM and by kill -9, two at a time."""
    struck_rounds(report, options, seed, cycles, "storm", 400, replace_two)


def replace_two(bench, chance):
    victims = chance.sample(range(bench.count), 2)
    for number in victims:
        bench.members[number].send(chance.choice([signal.SIGTERM, signal.SIGTERM, signal.SIGKILL]))
    time.sleep(chance.uniform(0, 3))
    for number in victims:
        if bench.members[number].wait(20) not in (0, -9):
            raise Broken("I6", f"a worker ended badly:\n{bench.members[number].end_of_log()}")
        bench.replace(number)


# --- a foreign session


def postgres_deadlock(report, options, seed, cycles):
    """A foreign session locks rows of the store against the workers' order, so that deadlocks and timeouts come."""
    for sub, count in rounds(seed, cycles, 200):
        with report.round(sub), ServerBench(options, sub, options.events or 12_000) as bench:
            bench.start_all("store.busyTimeoutMilliseconds=700")
            chance = random.Random(f"deadlock/{sub}")
            for _ in range(count):
                feed(bench, chance)
                bench.await_progress()
                foreign_transaction(bench, chance)
                report.cycle()
            bench.check_live()
            report.add("deadlocks", bench.server.number("SELECT sum(deadlocks) FROM pg_stat_database"))
            if not report.figures["deadlocks"]:
                raise Broken("I7", "the foreign session met no worker")
            bench.finish_all()
            report.worst(bench.worst)


def foreign_transaction(bench, chance):
    """Locks rows that the next chunks write, and the store's own rows behind them, which the workers lock first."""
    session = Session(bench.server)
    try:
        session.ask(f"SET search_path = {SCHEMA}; BEGIN")
        session.ask(f'SELECT count(*) FROM (SELECT 1 FROM "{chance.choice(["Chat", "Member", "Message"])}" ORDER BY pk DESC '
                    f'LIMIT {chance.choice([10, 1000])} FOR UPDATE) q')
        time.sleep(chance.uniform(0.05, 0.5))
        session.ask(chance.choice(["SELECT 1 FROM _lease FOR UPDATE", "SELECT 1 FROM _token FOR UPDATE",
                                   "SELECT count(*) FROM (SELECT 1 FROM _position FOR UPDATE) q"]))
        time.sleep(chance.uniform(0, 1.5))
        session.ask("COMMIT")
    except Failure as failure:
        if "deadlock detected" not in str(failure):
            raise
    finally:
        session.close()


# --- a server that lacks something


def postgres_disk(report, options, seed, cycles):
    """The disk of the store's tables is full, and has space again."""
    for sub, count in rounds(seed, cycles, 4):
        with report.round(sub):
            disk = own_folder("disk")
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=777", "tmpfs", disk], capture_output=True).returncode:
                os.rmdir(disk)
                raise Skipped("a small disk cannot be mounted")
            try:
                disk_round(report, options, sub, count, disk)
            finally:
                subprocess.run(["umount", "-l", disk], check=True)
                os.rmdir(disk)


def disk_round(report, options, sub, count, disk):
    server = Server()
    os.makedirs(os.path.join(disk, "space"))
    subprocess.run(["chown", "--reference", server.folder, os.path.join(disk, "space")], check=True)
    server.query(f"CREATE TABLESPACE small LOCATION '{disk}/space'", "GRANT CREATE ON TABLESPACE small TO ingest",
                 "ALTER ROLE ingest SET default_tablespace = 'small'")
    with ServerBench(options, sub, options.events or 12_000, server=server) as bench:
        bench.start_all("errors.retryTimeoutSeconds=120")
        for cycle in range(count):
            size = 8 + 16 * cycle
            # The workers fill the disk; who cannot go on waits, and says why.
            stillness = Stillness(limit_seconds=300)
            while not any(b"store.full" in worker.output() for worker in bench.members):
                if bench.position() > bench.total - 2000:
                    bench.produce(8000)
                bench.heal()
                if stillness.is_too_long(bench.position()):
                    raise Broken("I6", "the disk was filled and no worker says so:\n" + bench.members[0].end_of_log())
                time.sleep(0.1)
            bench.check_live()
            subprocess.run(["mount", "-o", f"remount,size={size + 16}m", disk], check=True)
            bench.await_progress(100)
            report.cycle()
            for worker in bench.members:  # a later cycle looks for new words
                open(worker.log, "wb").close() if cycle + 1 < count else None
        subprocess.run(["mount", "-o", "remount,size=500m", disk], check=True)
        bench.finish_all()
        report.worst(bench.worst)


def postgres_connections(report, options, seed, cycles):
    """The role has too few connections for the workers: who gets none waits, or ends with the reason."""
    for sub, count in rounds(seed, cycles, 6):
        with report.round(sub), ServerBench(options, sub, options.events or 6000) as bench:
            chance = random.Random(f"connections/{sub}")
            bench.start_all()
            for _ in range(count):
                feed(bench, chance)
                bench.await_progress(100)
                bench.server.query(f"ALTER ROLE ingest CONNECTION LIMIT {chance.choice([0, 1])}")
                bench.server.terminate()
                # It needs two connections: without the first one it ends with 69, without the second with 75.
                late = bench.start()
                if late.wait(30) not in (69, 75) or b"CONNECTION LIMIT" not in late.output():
                    raise Broken("I6", f"a worker without a connection ended with {late.process.returncode}:\n"
                                 + late.end_of_log())
                bench.server.query("ALTER ROLE ingest CONNECTION LIMIT -1")
                bench.await_progress(100)
                bench.check_live()
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)


def postgres_away(report, options, seed, cycles):
    """The server is away for longer than max.poll.interval.ms: the workers poll on, and keep their partitions."""
    for sub, count in rounds(seed, cycles, 4):
        with report.round(sub), ServerBench(options, sub, options.events or 6000) as bench:
            chance = random.Random(f"away/{sub}")
            bench.start_all("kafka.max.poll.interval.ms=7000")
            for _ in range(count):
                feed(bench, chance)
                bench.await_progress(100)
                bench.server.crash()
                time.sleep(chance.uniform(10, 16))
                bench.server.start()
                bench.await_progress()
                bench.check_live()
                for worker in bench.members:
                    if b"event=lost" in worker.output():
                        raise Broken("I6", f"a worker lost its partitions while the server was away:\n{worker.end_of_log(3000)}")
                report.cycle()
            bench.finish_all()
            report.worst(bench.worst)


# --- pgbouncer


def postgres_pooler(report, options, seed, cycles):
    """pgbouncer between the workers and the server, by turns in session and in transaction mode, and killed meanwhile."""
    for number, (sub, count) in enumerate(rounds(seed, cycles, 6)):
        mode = ["transaction", "session"][number % 2]
        with report.round(sub):
            server = Server()
            pooler = Pooler(server, mode, size=30 if mode == "session" else 6)
            try:
                with ServerBench(options, sub, options.events or 8000, server=server, url=pooler.url) as bench:
                    pooler_round(report, bench, pooler, random.Random(f"pooler/{sub}"), count)
            finally:
                pooler.close()


def pooler_round(report, bench, pooler, chance, count):
    bench.start_all()
    for cycle in range(count):
        feed(bench, chance)
        bench.await_progress(chance.randrange(1, 600))
        if cycle % 3 == 0:
            pooler.restart()
        else:
            one_fault(bench, chance, chance.choice(["worker", "connection", "connection", "server"]))
        bench.await_progress()
        bench.check_live()
        report.cycle()
    bench.finish_all()
    report.worst(bench.worst)

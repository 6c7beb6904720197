"""All scenarios by name, with the cycles that the quick set and the long one give them."""

from functools import partial

from . import (disks, failover, health, kills, lives, members, memory, notify, operators, outages, postgres, readers, rebuilds,
               stores, sweeps, torn)


class Scenario:
    def __init__(self, body, quick, long, text):
        self.body, self.quick, self.long, self.text = body, quick, long, text


ALL = {
    "kill-random": Scenario(kills.kill_random, 12, 1000, "kill -9 at any moment"),
    "kill-steps": Scenario(kills.kill_steps, len(kills.NAMED), 0, "kill -9 at each named step in turn"),
    "kill-in-recovery": Scenario(kills.kill_in_recovery, 10, 500, "a second kill within 200 ms of the start"),
    "power-loss": Scenario(kills.power_loss, 5, 400, "unsynced writes lost, in part or whole, or garbled"),
    "broker-stop": Scenario(outages.broker_stop, 3, 100, "the broker's process stands still"),
    "broker-kill": Scenario(outages.broker_kill, 3, 100, "the broker is killed and comes back"),
    "network": Scenario(outages.network, 4, 200, "half-open, slow, cut and reset connections"),
    "rebalance-storm": Scenario(outages.rebalance_storm, 8, 200, "members come and go; several workers in one group"),
    "position-lost": Scenario(outages.position_lost, 2, 20, "the broker comes back with other data"),
    "disk-full": Scenario(disks.disk_full, 2, 100, "a full disk, and space again"),
    "io-error": Scenario(disks.io_error, 5, 200, "failing and short calls on the store's files"),
    "sync-error": Scenario(disks.sync_error, 0, 20, "syncs of checkpoints fail for good"),
    "torn": Scenario(torn.torn, 30, 2000, "a write-ahead log that is cut or has bytes flipped"),
    "io-error-sweep": Scenario(sweeps.io_error_sweep, 20, 100_000, "every write of a short run fails, once and for good"),
    "power-loss-sweep": Scenario(sweeps.power_loss_sweep, 20, 100_000, "the power goes at every operation of a short run"),
    "memory-sweep": Scenario(memory.memory_sweep, 15, 100_000, "no memory at each allocation of simdjson, libjq and SQLite"),
    "memory-broker": Scenario(memory.memory_broker, 3, 300, "no memory at allocations of librdkafka"),
    "zombie": Scenario(lives.zombie, 3, 100, "SIGSTOP past the lease's end, a successor, SIGCONT"),
    "clock": Scenario(lives.clock, 5, 100, "the clock jumps, back and far ahead too"),
    "shutdown": Scenario(lives.shutdown, 9, 90, "SIGTERM under each fault"),
    "duplicate-reorder": Scenario(lives.duplicate_reorder, 2, 55, "repeats and windows to 100,000 records"),
    "rebuild": Scenario(rebuilds.rebuild, 3, 100, "kill -9 while a store is built anew and takes the old one's place"),
    "operators": Scenario(operators.operators, 2, 100, "kill -9 while commands ask the worker to write"),
    "cooperative": Scenario(members.cooperative, 6, 180, "cooperative and static members, kills within a revocation"),
    "absence": Scenario(members.absence, 0, 20, "broker or worker away for up to three minutes"),
    "notifications": Scenario(notify.notifications, 16, 120, "notifications in transactions and by object, under kills"),
    "health-load": Scenario(health.health_load, 1, 40, "hundreds of slow, silent and greedy clients of the HTTP server"),
    "readers": Scenario(readers.readers, 1, 50, "16 readers of the store, 4 of the feed, a pinned snapshot"),
    "stores-kill": Scenario(stores.stores_kill, 3, 260, "a store for each partition: kill -9 of processes, at steps too"),
    "stores-stop": Scenario(stores.stores_stop, 1, 40, "a store for each partition: SIGSTOP past session and leases"),
    "stores-storm": Scenario(stores.stores_storm, 3, 240, "a store for each partition: processes come and go"),
    "stores-broadcast": Scenario(stores.stores_broadcast, 1, 40, "a store for each partition: a topic that all read, behind and lost"),
    "stores-postgres": Scenario(stores.stores_postgres, 1, 40, "a store for each partition: one of two servers is away"),
    "postgres-kill": Scenario(postgres.postgres_kill, 0, 120, "PostgreSQL: kill -9 of workers and server, SIGSTOP"),
    "memory-postgres": Scenario(memory.memory_postgres, 5, 5000, "PostgreSQL: no memory at each allocation of libpq"),
    "postgres-foreign": Scenario(postgres.postgres_foreign, 0, 0, "PostgreSQL: workers killed, on the server of INGEST_STORE_URL"),
    "postgres-steps": Scenario(postgres.postgres_steps, 3, 180, "PostgreSQL: kills at each statement and within COMMIT"),
    "postgres-storm": Scenario(postgres.postgres_storm, 0, 48, "PostgreSQL: members of a group of four come and go"),
    "postgres-versions": Scenario(postgres.postgres_versions, 0, 0, "PostgreSQL: workers of two versions on one store"),
    "postgres-deadlock": Scenario(postgres.postgres_deadlock, 0, 200, "PostgreSQL: a foreign session locks rows"),
    "postgres-disk": Scenario(postgres.postgres_disk, 0, 4, "PostgreSQL: the disk of the tables is full"),
    "postgres-connections": Scenario(postgres.postgres_connections, 0, 12, "PostgreSQL: too few connections"),
    "postgres-away": Scenario(postgres.postgres_away, 0, 8, "PostgreSQL: the server is away past max.poll.interval.ms"),
    "postgres-pooler": Scenario(postgres.postgres_pooler, 2, 24, "PostgreSQL: pgbouncer, which restarts"),
    "postgres-failover": Scenario(failover.postgres_failover, 0, 6, "PostgreSQL: to a synchronous standby"),
    "postgres-failover-lag": Scenario(failover.postgres_failover_lag, 1, 6, "PostgreSQL: to a standby that lags"),
    "recovery": Scenario(lives.recovery, 0, 10, "from kill to ready on a store of 1 GB"),
}
for step in kills.NAMED:
    ALL[f"kill-step:{step}"] = Scenario(partial(kills.kill_step, step=step), 0, 100, f"kill -9 at {step}")

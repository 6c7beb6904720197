#!/usr/bin/env python3
"""Keeps the store's history in a DuckDB file, and prints a report over it and the store.

  samples/readers/report.py STORE REPORT.duckdb

Each run takes the transactions since the last run, in one transaction of DuckDB; so a run that was killed, or that
comes twice, adds nothing twice. The worker may run meanwhile. A rebuilt or restored store begins a new history.

Needs duckdb and its extension sqlite_scanner: from PyPI as duckdb-extension-sqlite-scanner, or, where the machine reaches
DuckDB's own server, by DuckDB itself.
"""

import importlib.util
import pathlib
import sys

import duckdb


def connect(store, report):
    connection = duckdb.connect(report)
    packaged = importlib.util.find_spec("duckdb_extension_sqlite_scanner")
    if packaged:
        folder = pathlib.Path(packaged.origin).parent / "extensions" / f"v{duckdb.__version__}"
        connection.load_extension(str(folder / "sqlite_scanner.duckdb_extension"))
    else:
        connection.install_extension("sqlite_scanner")
        connection.load_extension("sqlite_scanner")
    connection.execute(f"ATTACH '{store.replace(chr(39), chr(39) * 2)}' AS store (TYPE sqlite, READ_ONLY)")
    connection.execute("CREATE TABLE IF NOT EXISTS progress (store VARCHAR, token BIGINT)")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS change "
        "(token BIGINT, time TIMESTAMPTZ, entity VARCHAR, identity VARCHAR, change VARCHAR, properties VARCHAR)")
    return connection


def take_changes(connection):
    """Adds the transactions that came since the last run. Returns the number of changes."""
    # The attached store keeps one snapshot for the whole transaction.
    connection.execute("BEGIN")
    identity, purged, last = connection.execute(
        "SELECT * FROM sqlite_query('store', 'SELECT (SELECT value FROM _metadata WHERE key = ''storeID''), "
        "(SELECT value FROM _metadata WHERE key = ''purgedToken''), "
        "(SELECT seq FROM sqlite_sequence WHERE name = ''_history_transaction'')')").fetchone()
    purged, last = int(purged or 0), int(last or 0)
    known, token = connection.execute("SELECT store, token FROM progress").fetchone() or (identity, 0)
    if known != identity or token > last:
        connection.execute("DELETE FROM change")
        token = 0
    if purged > token:
        print(f"the store has purged its history up to token {purged}; this report continues from {token}", file=sys.stderr)
    # DuckDB does not read the view _history itself: SQLite does.
    added = connection.execute(
        f"INSERT INTO change SELECT token::BIGINT, time::TIMESTAMPTZ, entity, identity, change, properties "
        f"FROM sqlite_query('store', 'SELECT token, time, entity, identity, change, properties FROM _history "
        f"WHERE token > {token} AND token <= {last}')").fetchone()[0]
    connection.execute("DELETE FROM progress")
    connection.execute("INSERT INTO progress VALUES (?, ?)", [identity, last])
    connection.execute("COMMIT")
    return added


def main(store, report):
    connection = connect(store, report)
    print(f"{take_changes(connection)} new changes")
    print(connection.sql(
        "SELECT entity, change, count(*) AS changes, max(token) AS last_token FROM change GROUP BY ALL ORDER BY ALL"))
    # Dates in the store are microseconds since 1970.
    print(connection.sql(
        "SELECT c.title, date_trunc('day', make_timestamp(m.sentAt)) AS day, count(*) AS messages "
        "FROM store.Message m JOIN store.Chat c ON c.pk = m.chat WHERE m.sentAt IS NOT NULL "
        "GROUP BY ALL ORDER BY messages DESC, day LIMIT 10"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

"""The console while a migration or a rebuild is under way: what the page shows, and that it goes on afterwards."""

import pathlib
import shutil
import socket
import sqlite3
import subprocess
import time

from harness.worker import Worker

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "config/models/chat.yaml"
MODEL_2 = ("seq:       { type: integer64, default: 0, min: 0 }", "seq:       { type: string, optional: true }")
# Rows enough for a migration of half a minute: each gets its text by functions of the program.
MESSAGES = 300_000
BODY = "body"
for _ in range(12):
    BODY = f"replace({BODY}, 'a', 'e')"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def wait_for_port(port, process):
    """Waits until the process listens; one that ends before has failed."""
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{process.args} ended with {process.returncode} before it listened")


def large_store(path):
    """Adds messages to a store of the chat's model, as a long life would have."""
    with sqlite3.connect(path) as store:
        store.execute(f"""
            WITH RECURSIVE n(i) AS (SELECT 1000001 UNION ALL SELECT i + 1 FROM n WHERE i < {1000000 + MESSAGES})
            INSERT INTO Message (pk, id, body, sentAt, updatedAt, seq, chat, sender)
            SELECT i, 'large-' || i, 'a text of a message', 0, 0, i, (SELECT min(pk) FROM Chat), NULL FROM n""")


def settings_of(model, store, port):
    return ["--set", f"model={model}", "--set", f"store.path={store}", "--set", f"http.port={port}"]


def console(binary, settings):
    return subprocess.Popen([str(binary), "console", *settings], stderr=subprocess.DEVNULL)


def migrate(binary, folder, store, port, log):
    """Starts a migration of a store that no worker has, with its progress at the port; returns it with its settings."""
    model = pathlib.Path(folder) / "chat-2.yaml"
    text = MODEL.read_text()
    assert MODEL_2[0] in text
    model.write_text(text.replace(*MODEL_2).replace("version: 1", "version: 2", 1))
    mapping = pathlib.Path(folder) / "mapping.yaml"
    mapping.write_text(f'entities:\n  Message:\n    body: "{BODY}"\n')
    settings = settings_of(model, store, port)
    command = [str(binary), "migrate", "--copy-from", "0", "--mapping", str(mapping), *settings]
    with open(log, "wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output), settings


def look_at_migration(windows, migration):
    """The sentence has the share and the time left, the bar has the share, and nothing asks for the store."""
    for views in windows.values():
        views.expect('#verdict[data-state="working"]')
        views.expect("#work")
        views.expect("#migrating")
    for views in windows.values():
        views.expect("#work[value]")
        views.expect("#sentence", "Migrating the store: copying, ")
        if views.page.locator("nav").is_visible():
            views.complaints.append("the views of the store are offered during a migration")
        views.expect('#work[value]:not([value="0"])')
        views.expect("#sentence", " left")
    for views in windows.values():
        views.check("migration")
        share = float(views.page.locator("#work").get_attribute("value") or 0)
        if not 0 < share <= 1 and "copying" in views.page.locator("#sentence").inner_text():
            views.complaints.append(f"the bar of the migration is at {share}")
    if migration.wait(300) != 0:
        raise RuntimeError(f"the migration ended with {migration.returncode}")
    for views in windows.values():
        views.expect("#sentence", "does not answer")


def look_after_migration(windows):
    """The worker of the new model has the port, and the open page goes on by itself."""
    for views in windows.values():
        views.expect('#verdict[data-state="stopped"]', "no worker runs")
        views.expect("nav")
        views.page.locator("#work").wait_for(state="hidden")
        views.choose("objects")
        views.expect("#rows a")


def look_at_rebuild(windows):
    """A rebuild beside a worker is under way until that worker ends."""
    for views in windows.values():
        views.expect('#verdict[data-state="working"]', "Rebuilding the store: ")
        views.expect("#sentence", "waiting for the old store")
        views.expect("#work")
        views.expect("#positions td")
        views.check("rebuild")


def complaints(windows):
    return [f"{screen}: {each}" for screen, views in windows.items() for each in views.complaints]


def show_rebuild(open_windows, binary, config):
    """A rebuild beside the worker, with a console of its own."""
    rebuild = Worker(str(binary), str(config), str(config.with_name("rebuild.log")), options=["--rebuild"],
                     settings=["http.bearerToken=null"])
    try:
        while rebuild.is_running and rebuild.get("/livez")[0] == 0:
            time.sleep(0.1)
        windows = open_windows(rebuild.port)
        look_at_rebuild(windows)
        return complaints(windows)
    finally:
        rebuild.kill()


def show_migration(open_windows, binary, store, folder):
    """A migration of a large store that no worker has, and the console that comes after it."""
    large = pathlib.Path(folder) / "large.sqlite"
    shutil.copy(store, large)
    large_store(large)
    port, processes = free_port(), []
    log = pathlib.Path(folder) / "migrate.log"
    try:
        # A browser takes long to start on a busy machine, so the pages are open before the migration begins.
        before = console(binary, settings_of(MODEL, large, port))
        processes.append(before)
        wait_for_port(port, before)
        windows = open_windows(port)
        before.kill()
        before.wait()
        migration, settings = migrate(binary, folder, large, port, log)
        processes.append(migration)
        look_at_migration(windows, migration)
        processes.append(console(binary, settings))
        look_after_migration(windows)
        return complaints(windows)
    except Exception:
        print(log.read_text(errors="replace") if log.exists() else "the migration did not begin")
        raise
    finally:
        for process in processes:
            process.kill()

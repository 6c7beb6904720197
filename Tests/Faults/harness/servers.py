"""PostgreSQL servers as processes of their own: a primary, streaming standbys, and pgbouncer before one of them."""

import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

from .broker import reserved_port
from .stillness import Stillness

APPLICATION = "application_name = 'ingest'"


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise SystemExit("There is no PostgreSQL server: install the package 'postgresql'.")
    return found[-1]


def as_server(command):
    """A command as the user that the server runs as: it refuses root."""
    if os.geteuid():
        return command
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]


def own_folder(name):
    """A folder below /tmp, for the server's user may not enter those of the harness."""
    folder = tempfile.mkdtemp(prefix=f"faults-{name}-", dir="/tmp")
    if not os.geteuid():
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


class Failure(Exception):
    """psql ended with an error."""


class Statements:
    """What the harness asks a server with psql; `target` says where it is."""

    def query(self, *statements):
        """Runs statements, each in a transaction of its own; returns the last ones' rows as text."""
        command = [os.path.join(programs(), "psql"), "-AtXq", "-v", "ON_ERROR_STOP=1", *self.target]
        for each in statements:
            command += ["-c", each]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if ended.returncode:
            raise Failure(ended.stderr.strip())
        return ended.stdout.strip()

    def number(self, sql):
        """A number that a statement returns; 0 where the server or its table is not there, or the number is null."""
        try:
            return int(self.query(sql) or 0)
        except (Failure, ValueError, subprocess.TimeoutExpired):
            return 0


class ForeignServer(Statements):
    """A server of somebody else, in which the schema of the workers is made and dropped."""

    folder = None

    def __init__(self, url, schema):
        self.target, self.address, self.schema = ["-d", url], url, schema
        if self.number(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'"):
            raise SystemExit(f"The database has a schema '{schema}' already: name another database.")

    def url(self):
        return self.address

    def close(self):
        self.query("SET client_min_messages = error", f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")


class Server(Statements):
    """A server on a port and in a folder of its own; `crash` and `start` keep both."""

    def __init__(self, name="primary", source=None, settings=(), addresses=("127.0.0.1",), port=None):
        self.name, self.source, self.addresses = name, source, addresses
        self.folder = own_folder(name)
        self.port, self.port_lock = (port, None) if port else reserved_port()
        self.target = ["-h", self.folder, "-p", str(self.port), "-U", "postgres", "postgres"]
        self.data = os.path.join(self.folder, "data")
        self.settings = ["max_connections=60", "deadlock_timeout=100ms", "max_wal_senders=6", "wal_keep_size=256",
                         "autovacuum=off", "shared_buffers=32MB", *settings]
        self.process = None
        if source:
            self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync",
                     "-d", f"{source.address} user=postgres application_name={name}")
        else:
            self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.start()
        if not source:
            self.query("CREATE ROLE ingest LOGIN", "GRANT CREATE ON DATABASE postgres TO ingest")

    def run(self, program, *arguments):
        subprocess.run(as_server([os.path.join(programs(), program), *arguments]), check=True, capture_output=True,
                       timeout=120, cwd=self.folder)

    @property
    def address(self):
        return f"host=127.0.0.1 port={self.port}"

    def url(self, *others, user="ingest", database="postgres"):
        """A URL of this server, or of this one and others."""
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in (self, *others))
        return f"postgres://{user}@{hosts}/{database}"

    def start(self):
        settings = [word for each in self.settings for word in ("-c", each)]
        command = [os.path.join(programs(), "postgres"), "-D", self.data, "-k", self.folder, "-p", str(self.port),
                   "-c", f"listen_addresses={','.join(self.addresses)}", *settings]
        stillness = Stillness()
        while not stillness.is_too_long():
            with open(os.path.join(self.folder, "server.log"), "ab") as log:
                self.process = subprocess.Popen(as_server(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                cwd=self.folder)
            while self.process.poll() is None:
                if subprocess.run([os.path.join(programs(), "pg_isready"), "-q", "-h", self.folder, "-p", str(self.port)],
                                  check=False).returncode == 0:
                    return
                time.sleep(0.05)
            time.sleep(0.2)  # processes of the one that was killed may still have its memory
        with open(os.path.join(self.folder, "server.log"), "rb") as log:
            raise RuntimeError(f"the server {self.name} does not start: {log.read()[-1000:].decode(errors='replace')}")

    def crash(self):
        """kill -9 of the postmaster and all its processes."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        for pid in [self.process.pid, *map(int, children)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def promote(self):
        self.query("SELECT pg_promote(true, 60)")

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- statements

    def set(self, name, value):
        self.query(f"ALTER SYSTEM SET {name} = '{value}'", "SELECT pg_reload_conf()")

    def terminate(self, condition="true"):
        """Ends connections of workers; returns how many."""
        return self.number(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {APPLICATION} AND {condition}")


class Session:
    """A `psql` that stays: one connection, whose statements are answered in their order."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [os.path.join(programs(), "psql"), "-AtXq", *server.target],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, sql):
        """Runs statements, and returns their rows as text."""
        try:
            self.process.stdin.write(sql.rstrip("; ") + ";\n\\echo --end--\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure("psql has ended") from None
        lines = []
        while (line := self.process.stdout.readline()) != "--end--\n":
            if not line:
                raise Failure("\n".join(lines) or "psql has ended")
            lines.append(line.rstrip("\n"))
        if any(re.match("(ERROR|FATAL):", line) for line in lines):
            raise Failure("\n".join(lines))
        return "\n".join(lines)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Pooler:
    """pgbouncer before a server, on a port of its own."""

    def __init__(self, server, mode, size=20):
        self.folder = own_folder("pgbouncer")
        self.port, self.port_lock = reserved_port()
        with open(os.path.join(self.folder, "users.txt"), "w") as file:
            file.write('"ingest" ""\n')
        with open(os.path.join(self.folder, "pgbouncer.ini"), "w") as file:
            file.write(f"""[databases]
postgres = {server.address} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = trust
auth_file = {self.folder}/users.txt
pool_mode = {mode}
default_pool_size = {size}
server_login_retry = 1
""")
        self.process = None
        self.start()

    @property
    def url(self):
        return f"postgres://ingest@127.0.0.1:{self.port}/postgres"

    def start(self):
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not os.path.exists(program):
            raise SystemExit("There is no pgbouncer: install the package 'pgbouncer'.")
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(as_server([program, os.path.join(self.folder, "pgbouncer.ini")]),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

"""The program under test as a process: start, signals, health, and what it says."""

import http.client
import os
import re
import signal
import subprocess
import time

from .stillness import Stillness

FAILED_CHECK = re.compile(r"^\[-\](\S+) failed", re.MULTILINE)
PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)|address[^\n]*127\.0\.0\.1:(\d+)|host=127\.0\.0\.1 port=(\d+)")


class Worker:
    """One life of `ingest-worker run`. Its output goes to a file of its own."""

    def __init__(self, binary, config, log, environment=None, settings=(), options=()):
        self.log = log
        arguments = [binary, "run", *options, "--config", config]
        for each in settings:
            arguments += ["--set", each]
        self.started = time.monotonic()
        self.port = None
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(environment or {})}, cwd=os.path.dirname(config))

    @property
    def pid(self):
        return self.process.pid

    @property
    def is_running(self):
        return self.process.poll() is None

    def send(self, number):
        if self.is_running:
            self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds):
        """SIGTERM; returns the exit code and how long the end took, or (None, seconds) after killing it."""
        began = time.monotonic()
        self.send(signal.SIGTERM)
        return self.wait(seconds), time.monotonic() - began

    def wait(self, seconds):
        """Waits for the end, and returns the exit code; None where the worker does not end. Time in which it is at work,
        or waits for a processor, does not count, up to ten times as much."""
        stillness, began = Stillness(self.pid, seconds), time.monotonic()
        while not stillness.is_too_long() and time.monotonic() - began < 10 * seconds:
            try:
                return self.process.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
        return None

    def output(self):
        with open(self.log, "rb") as file:
            return file.read()

    def end_of_log(self, size=1500):
        return self.output()[-size:].decode(errors="replace")

    # --- health

    def get(self, path, seconds=1.0):
        """Status and body of the worker's HTTP server; (0, '') where it does not answer."""
        if self.port is None:
            found = PORT.findall(self.output())
            if not found:
                return 0, ""
            # A rebuild listens anew when its store is in its place.
            self.port = int(next(each for each in found[-1] if each))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            self.port = None
            return 0, ""
        finally:
            connection.close()

    def is_ready(self, but=()):
        """Whether /readyz says 200, or nothing fails but checks of some names."""
        status, body = self.get("/readyz")
        failed = set(FAILED_CHECK.findall(body))
        return status == 200 or bool(failed) and failed <= set(but)

    def wait_ready(self, wanted, seconds, but=()):
        """Waits until the worker is ready (but for checks of some names), or is not; returns the seconds it took, or None."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.is_ready(but) == wanted:
                return time.monotonic() - began
            if wanted and not self.is_running:
                return None
            time.sleep(0.02)
        return None

    def memory(self):
        """Memory of its own in megabytes, without pages of files; 0 when the process is gone."""
        try:
            with open(f"/proc/{self.pid}/status") as file:
                return next((int(l.split()[1]) // 1024 for l in file if l.startswith("RssAnon")), 0)
        except OSError:
            return 0


def configuration(path, store, model, topics, broker, changes, extra=""):
    """Writes a configuration file; `store` is the inside of its part about the store."""
    names = ", ".join(topics)
    with open(path, "w") as file:
        file.write(f"""model: {model}
store: {{ {store} }}
topics: [{names}]
kafka:
  bootstrap.servers: "{broker}"
  group.id: faults
  session.timeout.ms: 6000
  heartbeat.interval.ms: 500
  reconnect.backoff.max.ms: 500
notifications: {{ topic: {changes or 'null'} }}
http: {{ port: 0 }}
{extra}""")

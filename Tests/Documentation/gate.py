"""A gate in front of a broker, which has neither TLS nor logins: gate.py BROKER TLS SASL FOLDER.

BROKER, TLS and SASL are ports. The port TLS asks for a client's certificate. The port SASL asks for a login over TLS, of
the user 'ingest', and checks PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. Behind both, bytes go to the broker and back, with
the gate's port where the broker names its own. FOLDER gets the certificates ca.pem, client.pem and client.key, the
password in kafka-password, and the file 'ready' when both ports listen.
"""

import base64
import hashlib
import hmac
import os
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
from pathlib import Path

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ROUNDS = 4096
# Codes of Kafka's protocol.
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 33, 58


class Refused(Exception):
    """A login that the gate does not accept."""


def certificates(folder):
    """An authority, and certificates of it for the gate and for a client."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("gate", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-extfile", "names", "-out", f"{name}.pem", "-days", "2")


class Login:
    """One login by one mechanism: takes the client's messages, and returns the answers."""

    def __init__(self, mechanism, password):
        self.mechanism, self.password, self.first, self.is_done = mechanism, password, None, False

    def answer(self, message):
        if self.mechanism == "PLAIN":
            if message.split(b"\0")[1:] != [b"ingest", self.password]:
                raise Refused
            self.is_done = True
            return b""
        return self.prove(message) if self.first else self.begin(message)

    def begin(self, message):
        bare = message.split(b",", 2)[2]
        fields = dict(part.split(b"=", 1) for part in bare.split(b","))
        if fields[b"n"] != b"ingest":
            raise Refused
        self.salt, self.nonce = os.urandom(16), fields[b"r"] + base64.b64encode(os.urandom(12))
        self.first = b"r=" + self.nonce + b",s=" + base64.b64encode(self.salt) + b",i=" + str(ROUNDS).encode()
        self.texts = bare + b"," + self.first
        return self.first

    def prove(self, message):
        bare, _, proof = message.rpartition(b",p=")
        # librdkafka 2.0.2 puts its own part of the nonce in front once more. Apache's broker looks at the end only, too.
        if not dict(part.split(b"=", 1) for part in bare.split(b","))[b"r"].endswith(self.nonce):
            raise Refused
        name = HASHES[self.mechanism]
        salted = hashlib.pbkdf2_hmac(name, self.password, self.salt, ROUNDS)
        client_key = hmac.digest(salted, b"Client Key", name)
        texts = self.texts + b"," + bare
        signature = hmac.digest(hashlib.new(name, client_key).digest(), texts, name)
        expected = bytes(one ^ other for one, other in zip(client_key, signature))
        if not hmac.compare_digest(base64.b64decode(proof), expected):
            raise Refused
        self.is_done = True
        return b"v=" + base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", name), texts, name))


def read(connection, size):
    data = b""
    while len(data) < size:
        if not (part := connection.recv(size - len(data))):
            raise ConnectionError
        data += part
    return data


def read_frame(connection):
    return read(connection, struct.unpack(">i", read(connection, 4))[0])


def send_frame(connection, data):
    connection.sendall(struct.pack(">i", len(data)) + data)


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def log_in(client, server, password):
    """Answers the requests of a login, until one is accepted."""
    login = None
    while not (login and login.is_done):
        frame = read_frame(client)
        key, version, number, length = struct.unpack_from(">hhih", frame)
        body = frame[10 + max(0, length):]
        if key == API_VERSIONS:
            send_frame(server, frame)
            send_frame(client, read_frame(server))
        elif key == SASL_HANDSHAKE:
            mechanism = body[2:].decode()
            known = ["PLAIN", *HASHES]
            code = 0 if mechanism in known else UNSUPPORTED_MECHANISM
            login = Login(mechanism, password)
            send_frame(client, struct.pack(">ihi", number, code, len(known)) + b"".join(text(each) for each in known))
        elif key == SASL_AUTHENTICATE and login and version < 2:
            try:
                code, message, answer = 0, struct.pack(">h", -1), login.answer(body[4:])
            except Refused:
                code, message, answer = AUTHENTICATION_FAILED, text("Authentication failed"), b""
            lifetime = struct.pack(">q", 0) if version == 1 else b""
            send_frame(client, struct.pack(">ih", number, code) + message + struct.pack(">i", len(answer)) + answer + lifetime)
            print(f"{login.mechanism}: {'refused' if code else 'accepted' if login.is_done else 'asked'}", flush=True)
        else:
            raise ConnectionError


def pass_on(client, server, names):
    """Passes bytes both ways until a side closes."""
    while True:
        readable = [client] if client.pending() else select.select([client, server], [], [])[0]
        for side in readable:
            if not (data := side.recv(1 << 16)):
                return
            (server if side is client else client).sendall(data if side is client else data.replace(*names))


def serve(listener, context, broker, port, password):
    def handle(raw):
        try:
            with context.wrap_socket(raw, server_side=True) as client, \
                    socket.create_connection(("127.0.0.1", broker)) as server:
                if password:
                    log_in(client, server, password)
                host = b"127.0.0.1"
                pass_on(client, server, (host + struct.pack(">i", broker), host + struct.pack(">i", port)))
        except OSError as error:
            print(f"a connection ended: {error}", flush=True)

    while True:
        threading.Thread(target=handle, args=[listener.accept()[0]], daemon=True).start()


def main():
    broker, tls, sasl = (int(each) for each in sys.argv[1:4])
    folder = Path(sys.argv[4])
    certificates(folder)
    password = b"a-long-password"
    (folder / "kafka-password").write_bytes(password)
    for port, verify, secret in [(tls, ssl.CERT_REQUIRED, None), (sasl, ssl.CERT_NONE, password)]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "gate.pem", folder / "gate.key")
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = verify
        listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=serve, args=[listener, context, broker, port, secret]).start()
    (folder / "ready").touch()


main()

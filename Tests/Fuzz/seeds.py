"""Writes the first inputs of a fuzzing target: the project's samples, models and texts of its documentation."""

import base64
import json
import pathlib
import re
import struct
import sys

root, target, corpus = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])


def lines(path, count=60):
    return (root / path).read_bytes().splitlines()[:count]


def blocks(path, language):
    text = (root / path).read_text()
    return [match.encode() for match in re.findall(rf"```{language}\n(.*?)```", text, re.S)]


def records():
    for line in lines("samples/chat-events.jsonl"):
        yield b"\x00" + line
    for block in blocks("docs/reference/formats.md", "json"):
        yield b"\x01" + block
        yield b"\x02" + block
        yield b"\x05id\x00" + block
    yield b'\x01{"op":"c","ts_ms":1,"source":{"table":"Message"},"after":{"id":"m1","chat":"c1","body":"x","seq":4}}'
    yield b'\x01{"op":"u","source":{"table":"Chat"},"before":{"id":"c1"},"after":{"id":"c1","title":"t"}}'
    yield b'\x01{"op":"d","source":{"table":"Chat"},"before":{"id":"c1"},"after":null}'
    yield b'\x02{"schema":{"type":"struct","fields":[{"field":"id","type":"string"}]},"payload":{"id":"m1"}}'
    yield b'\x03{"kind":"chat","id":"c1","at":"2026-01-02T03:04:05Z","lines":[{"body":"a"},{"body":"b"}]}'
    yield b'\x03{"kind":"message","live":true,"payload":{"id":"m1","chat":{"id":"c1","members":["a"]},"seq":"12"}}'
    yield b'\x10{"id":"m1","chat":"c1"}'
    yield b"\x0cid\x00"


def schemas():
    for vector in json.loads((root / "Tests/Registry/vectors.json").read_text()):
        yield bytes([0 if vector["type"] == "AVRO" else 3]) + bytes.fromhex(vector["content"])
        yield bytes([4 if vector["type"] == "AVRO" else 5]) + vector["schema"].encode()
    yield bytes.fromhex("03000a020a000a004a060880b0a5c806")
    yield bytes.fromhex("0104040002000000")


def files():
    for number, sample in enumerate((b'{"a":1}\n{"b":"x\\"y"}\n', b'[{"a":1},\n{"b":[2]}]', b'id,name\n1,"a\n""b"\n2,c\n')):
        for first in (number, number + 3, number + 30):
            yield bytes([first]) + sample


def models():
    for path in sorted((root / "config/models").glob("*.yaml")):
        yield path.read_bytes()
    yield from blocks("docs/reference/model.md", "yaml")


def coredata():
    for path in sorted((root / "Tests").rglob("contents")):
        yield path.read_bytes()
    for path in sorted((root.parent / "shared/data/models").rglob("contents"))[:80]:
        yield path.read_bytes()
    yield b"""<?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
<entity name="A" representedClassName="A"><attribute name="id" optional="YES" attributeType="String"/>
<relationship name="b" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="A" inverseName="c" inverseEntity="A"/>
<relationship name="c" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A" inverseName="b" inverseEntity="A"/>
<uniquenessConstraints><uniquenessConstraint><constraint value="id"/></uniquenessConstraint></uniquenessConstraints>
</entity></model>"""


def predicates():
    conditions = set()
    for path in ("docs/reference/fetching.md", "Tests/ObjectGraphTests/Fetch/PredicateFuzzTests.swift"):
        text = (root / path).read_text()
        conditions.update(re.findall(r"`([^`\n]{3,200})`", text))
        conditions.update(re.findall(r'"((?:[^"\\\n]|\\.){3,200})"', text))
    for number, text in enumerate(sorted(conditions)):
        yield bytes([number % 8]) + text.encode()
        yield b"\x00" + text.encode()


def configuration():
    yield (root / "config/worker.yaml").read_bytes()
    yield (root / "samples/worker.yaml").read_bytes()
    for path in ("docs/reference/routes.md", "docs/reference/formats.md", "docs/how-to/security.md", "docs/how-to/containers.md"):
        yield from blocks(path, "yaml")


def texts():
    yield from (b"2026-01-02T03:04:05.678901Z", b"2026-01-02T03:04:05+02:00", b"-12.500e3", b"AAECAw==",
                b"123e4567-e89b-12d3-a456-426614174000", b"123e4567-e89b-12d3-a456-426614174000:42", b"1e-400", b"0.1")
    # Cursors: version, fingerprint, key, then a double, a text and a decimal.
    for number in (1.5, float("inf"), float("nan")):
        cursor = b"\x01" + bytes(16) + b"\x02" + struct.pack(">d", number)
        cursor += b"".join(b"\x03" + struct.pack(">Q", len(text)) + text for text in (b"Pump", b"12.5"))
        yield base64.urlsafe_b64encode(cursor).rstrip(b"=")


def expressions():
    record = b'{"a":{"b c":[{"x":1},null,"t"]},"m.n":"v","n":12,"f":1.5,"t":true,"z":null,"id":"i-1"}'
    paths = (b"a", b'a."b c"[0].x', b'"m.n"', b"n", b"a.b-c", b"[0]", b"$key.id", b"$header.h", b"$topic", b"$row", b"$value")
    for number, path in enumerate(paths):
        yield b"\x00" + path + b"\x00" + record
        yield b"\x01" + path + b"\x00" + record
        yield b"\x05{" + path + b"}-{id}\x00" + record
    for text in (b"n = 12 AND NOT id BEGINSWITH[c] 'I'", b'a."b c"[0].x >= 1 OR z = nil', b"f BETWEEN {1, 2}", b"id IN {'a', 'i-1'}"):
        yield b"\x02" + text + b"\x00" + record


def programs():
    text = (root / "Tests/IngestCoreTests/Decode/JQTokenizerTests.swift").read_text()
    for literal in re.findall(r'"((?:[^"\\\n]|\\.)+)"', text):
        yield re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), literal).encode()
    for path in ("docs/reference/routes.md", "docs/how-to/routes-cookbook.md"):
        for block in re.findall(r"jq: \|\n((?:[ ]+.*\n)+)", (root / path).read_text()):
            yield block.encode()


for index, content in enumerate(globals()[target]()):
    path = corpus / f"seed-{index:04}"
    if not path.exists():
        path.write_bytes(content)

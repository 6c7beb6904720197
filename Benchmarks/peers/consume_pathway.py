"""Pathway: a table of raw records, and a subscriber to it."""

import json
import logging

import pathway as pw
from sink import Sink

logging.disable(logging.CRITICAL)
sink = Sink()
table = pw.io.kafka.read(
    {"bootstrap.servers": sink.broker, "group.id": "pathway", "auto.offset.reset": "earliest"},
    topic=sink.topic, format="raw", autocommit_duration_ms=100)


def on_change(key, row, time, is_addition):
    sink.take(json.loads(row["data"]))


pw.io.subscribe(table, on_change)
pw.run(monitoring_level=pw.MonitoringLevel.NONE)

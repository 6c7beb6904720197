"""Bytewax: a dataflow from Kafka to a sink of one partition."""

import json

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main
from confluent_kafka import OFFSET_BEGINNING
from sink import Sink

sink = Sink()


class Partition(StatelessSinkPartition):
    def write_batch(self, items):
        for item in items:
            sink.take(json.loads(item.value))


class Output(DynamicSink):
    def build(self, step_id, worker_index, worker_count):
        return Partition()


flow = Dataflow("peer")
records = op.input("records", flow, KafkaSource([sink.broker], [sink.topic], starting_offset=OFFSET_BEGINNING))
op.output("store", records, Output())
run_main(flow)

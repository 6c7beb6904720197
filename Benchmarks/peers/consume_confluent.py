"""confluent-kafka by hand: batches of 500 records."""

import json

from confluent_kafka import Consumer
from sink import Sink

sink = Sink()
consumer = Consumer({"bootstrap.servers": sink.broker, "group.id": "confluent", "auto.offset.reset": "earliest",
                     "enable.auto.commit": False})
consumer.subscribe([sink.topic])
while True:
    for record in consumer.consume(500, 1.0):
        if record.error():
            raise SystemExit(str(record.error()))
        sink.take(json.loads(record.value()))

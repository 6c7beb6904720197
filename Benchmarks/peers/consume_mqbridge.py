"""mq-bridge: its Rust engine reads the topic, and hands over batches of 500 records."""

import json

from mq_bridge import Consumer
from sink import Sink

sink = Sink()
consumer = Consumer.from_config({"kafka": {
    "url": sink.broker, "topic": sink.topic, "group_id": "mq-bridge",
    "consumer_options": [["auto.offset.reset", "earliest"]]}})
while True:
    for record in consumer.poll(500, 1000):
        sink.take(json.loads(record.payload))

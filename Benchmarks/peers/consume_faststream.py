"""FastStream over confluent-kafka: a subscriber that takes batches of 500 events."""

import asyncio

from faststream import FastStream
from faststream.confluent import KafkaBroker
from sink import Sink

sink = Sink()
broker = KafkaBroker(sink.broker, logger=None)
application = FastStream(broker, logger=None)


@broker.subscriber(sink.topic, group_id="faststream", auto_offset_reset="earliest", batch=True, max_records=500)
async def handle(events: list[dict]):
    for event in events:
        sink.take(event)


asyncio.run(application.run())

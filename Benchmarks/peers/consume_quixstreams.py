"""Quix Streams: a streaming data frame whose update is the sink."""

from quixstreams import Application
from sink import Sink

sink = Sink()
application = Application(broker_address=sink.broker, consumer_group="quix", auto_offset_reset="earliest",
                          loglevel="ERROR")
frame = application.dataframe(application.topic(sink.topic, value_deserializer="json"))
frame.update(sink.take)
application.run()

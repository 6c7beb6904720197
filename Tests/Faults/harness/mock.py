"""librdkafka's mock cluster within the harness. Unlike the broker processes it shares a group's partitions out again when
a member is gone, whatever the others do at that moment."""

import ctypes
import ctypes.util
import os

from . import wire
from .broker import Broker


class MockBroker(Broker):
    """A cluster of one broker. It lives as long as the harness, and keeps its logs in memory."""

    def __init__(self):
        self.kind, self.client_environment, self.environment = "mock", {}, dict(os.environ)
        self.library = library = ctypes.CDLL(ctypes.util.find_library("rdkafka"))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(library, name).restype = ctypes.c_void_p
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        text = ctypes.create_string_buffer(500)
        configuration = library.rd_kafka_conf_new()
        library.rd_kafka_conf_set(ctypes.c_void_p(configuration), b"log_level", b"0", text, ctypes.c_size_t(500))
        self.client = ctypes.c_void_p(library.rd_kafka_new(0, ctypes.c_void_p(configuration), text, ctypes.c_size_t(500)))
        self.cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(self.client, 1))
        self.port = int(library.rd_kafka_mock_cluster_bootstraps(self.cluster).rpartition(b":")[2])
        self.wire = wire.Broker(self.port)

    def create(self, topic, partitions=1):
        if self.library.rd_kafka_mock_topic_create(self.cluster, topic.encode(), partitions, 1):
            raise RuntimeError(f"the mock cluster makes no topic {topic}")

    def kill(self):
        if self.cluster:
            self.library.rd_kafka_mock_cluster_destroy(self.cluster)
            self.library.rd_kafka_destroy(self.client)
            self.cluster = None

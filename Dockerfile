# docker build -t ingest-worker .
# docker run -p 127.0.0.1:8080:8080 -v ingest-data:/data -e INGEST_KAFKA_BOOTSTRAP_SERVERS=broker:9092 ingest-worker
#
# Both bases have to be of the same distribution. For a newer librdkafka take a newer one, with its package names:
#   --build-arg BUILD_IMAGE=… --build-arg RUN_IMAGE=… --build-arg RUN_PACKAGES="libsqlite3-0 librdkafka1 … zlib1g"
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:12-slim

FROM ${BUILD_IMAGE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libsqlite3-dev librdkafka-dev libsimdjson-dev zlib1g-dev libpq-dev libjq-dev libprotoc-dev libjemalloc-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# The dependencies change less often than the sources.
COPY Package.swift Package.resolved* ./
RUN swift package resolve
COPY . .
RUN swift build -c release --static-swift-stdlib --product ingest-worker \
    && cp "$(swift build -c release --static-swift-stdlib --show-bin-path)/ingest-worker" /ingest-worker \
    && strip /ingest-worker

FROM ${RUN_IMAGE}
ARG RUN_PACKAGES="libsqlite3-0 librdkafka1 libsimdjson14 zlib1g libpq5 libjq1 libjemalloc2"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ${RUN_PACKAGES} ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 ingest \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin ingest \
    && install -d -o ingest -g ingest -m 0750 /data
COPY --from=build /ingest-worker /usr/local/bin/ingest-worker
COPY config/models /etc/ingest-worker/models
COPY deploy/worker.yaml /etc/ingest-worker/worker.yaml

USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# The image has neither curl nor wget; bash can open a connection.
HEALTHCHECK --interval=15s --timeout=3s --start-period=60s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /livez HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r -t 2 line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["ingest-worker"]
CMD ["run", "--config", "/etc/ingest-worker/worker.yaml"]

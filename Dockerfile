# docker build -t ingest-worker .
# docker run --read-only --tmpfs /tmp -v ingest-data:/data -e INGEST_KAFKA_BOOTSTRAP_SERVERS=broker:9092 ingest-worker
#
# Both bases are pinned by tag, and have to be of the same distribution. To pin a base by its digest, or for a newer
# librdkafka with its package names:
#   --build-arg BUILD_IMAGE=swift@sha256:… --build-arg RUN_IMAGE=debian@sha256:… --build-arg RUN_PACKAGES="libsqlite3-0 …"
# To pack a program that is built already: --build-context build=FOLDER, as Tests/Image/run does.
ARG BUILD_IMAGE=swift:6.3.1-bookworm
ARG RUN_IMAGE=debian:12.15-slim

FROM ${BUILD_IMAGE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libsqlite3-dev librdkafka-dev libsimdjson-dev zlib1g-dev libpq-dev libcurl4-openssl-dev libjq-dev libprotoc-dev libjemalloc-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# The dependencies change less often than the sources.
COPY Package.swift Package.versions Package.resolved* ./
COPY deploy/versions deploy/
RUN swift package resolve && deploy/versions check
COPY . .
RUN options="-c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked" \
    && swift build ${options} --product ingest-worker \
    && cp "$(swift build ${options} --show-bin-path)/ingest-worker" /ingest-worker \
    && strip /ingest-worker \
    && deploy/sbom --linked >/linked

FROM ${RUN_IMAGE} AS root
ARG RUN_PACKAGES="libsqlite3-0 librdkafka1 libsimdjson14 zlib1g libpq5 libcurl4 libjq1 libjemalloc2"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ${RUN_PACKAGES} ca-certificates tzdata \
    && rm -rf /var/lib/apt/lists/*
ARG VERSION=0.1.0
COPY --from=build /ingest-worker /linked /
COPY deploy/image-root deploy/sbom /deploy/
COPY Package.versions /
RUN /deploy/image-root /ingest-worker /image \
    && mkdir -p /image/usr/share/doc/ingest-worker \
    && /deploy/sbom /ingest-worker "${VERSION}" /linked ca-certificates tzdata \
        >/image/usr/share/doc/ingest-worker/ingest-worker.cdx.json
COPY config/models /image/etc/ingest-worker/models
COPY deploy/worker.yaml /image/etc/ingest-worker/worker.yaml

# The program and its libraries alone.
FROM scratch
COPY --from=root /image/ /
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ingest-worker" \
      org.opencontainers.image.description="Imports Kafka events into an object graph in SQLite or PostgreSQL" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

ENV PATH=/usr/bin
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# The port is that of the configuration and of INGEST_HTTP_PORT. The start may upgrade the layout of a large store first: failures
# count from the first success, or after an hour.
HEALTHCHECK --interval=15s --timeout=10s --start-period=1h --retries=3 \
    CMD ["ingest-worker", "probe", "livez", "--config", "/etc/ingest-worker/worker.yaml"]
ENTRYPOINT ["ingest-worker"]
CMD ["run", "--config", "/etc/ingest-worker/worker.yaml"]

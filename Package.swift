// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "ingest-worker",
    products: [
        .library(name: "ObjectGraph", targets: ["ObjectGraph"]),
        .library(name: "PostgresStorage", targets: ["PostgresStorage"]),
        .library(name: "KafkaClient", targets: ["KafkaClient"]),
        .library(name: "RecordFormats", targets: ["AvroFormat", "ProtobufFormat"]),
        .library(name: "IngestCore", targets: ["IngestCore"]),
        .executable(name: "ingest-worker", targets: ["ingest-worker"]),
    ],
    traits: [
        .trait(name: "Protobuf", description: "Reads records of Protobuf; links libprotobuf."),
        .trait(name: "Jq", description: "Runs the jq programs of routes; links libjq."),
        .default(enabledTraits: ["Protobuf", "Jq"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibrdkafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSQLiteSettings", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "CSimdjson",
            linkerSettings: [.linkedLibrary("simdjson")]),
        // The archive: a shared libprotobuf costs each start three million instructions, and ties a package to its version.
        .target(name: "CProtobuf", linkerSettings: [.linkedLibrary(":libprotobuf.a")]),
        .target(name: "CJq", linkerSettings: [.linkedLibrary("jq")]),
        // It serves SQLite and librdkafka too. Debug builds keep the malloc of glibc, which sanitizers replace.
        .target(name: "CJemalloc", linkerSettings: [.linkedLibrary("jemalloc", .when(configuration: .release))]),
        .target(
            name: "GraphModel",
            dependencies: [.product(name: "Yams", package: "Yams")],
            swiftSettings: strict),
        .target(
            name: "GraphCore",
            dependencies: ["GraphModel", .product(name: "Yams", package: "Yams")],
            swiftSettings: strict),
        .target(
            name: "SQLiteStorage",
            dependencies: [
                "GraphModel", "GraphCore", "CSQLiteSettings",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(name: "MemoryStorage", dependencies: ["GraphModel", "GraphCore"], swiftSettings: strict),
        .target(
            name: "PostgresStorage", dependencies: ["GraphModel", "GraphCore", "CPostgres"], swiftSettings: strict),
        .target(
            name: "ObjectGraph",
            dependencies: ["GraphModel", "GraphCore", "SQLiteStorage", "MemoryStorage"],
            swiftSettings: strict),
        .target(name: "AvroFormat", swiftSettings: strict),
        .target(name: "ProtobufFormat", dependencies: ["CProtobuf"], swiftSettings: strict),
        .target(name: "KafkaClient", dependencies: ["CLibrdkafka"], swiftSettings: strict),
        .target(
            name: "IngestCore",
            dependencies: [
                "AvroFormat", "ObjectGraph", "PostgresStorage", "KafkaClient", "CSimdjson", "CZlib",
                .target(name: "ProtobufFormat", condition: .when(traits: ["Protobuf"])),
                .product(name: "Yams", package: "Yams"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            resources: [.embedInCode("Console/Page")],
            swiftSettings: strict),
        .executableTarget(
            name: "ingest-worker",
            dependencies: [
                .target(name: "CJq", condition: .when(traits: ["Jq"])), "CJemalloc", "IngestCore", "KafkaClient",
                "ObjectGraph",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["KafkaClient"], path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(name: "AvroFormatTests", dependencies: ["AvroFormat"], swiftSettings: strict),
        .testTarget(name: "ProtobufFormatTests", dependencies: ["ProtobufFormat"], swiftSettings: strict),
        .testTarget(name: "KafkaClientTests", dependencies: ["KafkaClient", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "IngestCoreTests",
            dependencies: [
                "IngestCore", "ObjectGraph", "GraphCore", "SQLiteStorage", "KafkaClient", "CSimdjson", "CZlib",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ProgramTests", dependencies: ["ingest-worker", "IngestCore", "KafkaClient", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ObjectGraphTests",
            dependencies: [
                "ObjectGraph", "GraphModel", "GraphCore", "SQLiteStorage", "MemoryStorage", "PostgresStorage",
                "CPostgres", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

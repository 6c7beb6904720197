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
        .library(name: "IngestCore", targets: ["IngestCore", "Operations"]),
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
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibrdkafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSQLiteSettings", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
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
        .target(name: "StoreSQL", dependencies: ["GraphModel", "GraphCore"], swiftSettings: strict),
        .target(
            name: "SQLiteStorage",
            dependencies: [
                "GraphModel", "GraphCore", "StoreSQL", "CSQLiteSettings",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(name: "MemoryStorage", dependencies: ["GraphModel", "GraphCore"], swiftSettings: strict),
        .target(
            name: "PostgresStorage", dependencies: ["GraphModel", "GraphCore", "StoreSQL", "CPostgres"],
            swiftSettings: strict),
        .target(
            name: "ObjectGraph",
            dependencies: ["GraphModel", "GraphCore", "SQLiteStorage"],
            swiftSettings: strict),
        .target(name: "AvroFormat", swiftSettings: strict),
        .target(name: "ProtobufFormat", dependencies: ["CProtobuf"], swiftSettings: strict),
        .target(name: "KafkaClient", dependencies: ["CLibrdkafka"], swiftSettings: strict),
        .target(name: "HTTPFetch", dependencies: ["CCurl"], swiftSettings: strict),
        .target(
            name: "RecordFiles",
            dependencies: ["GraphModel", "GraphCore", "AvroFormat", "CZlib"],
            swiftSettings: strict),
        .target(
            name: "RecordDecoding",
            dependencies: [
                "GraphModel", "GraphCore", "KafkaClient", "HTTPFetch", "RecordFiles", "AvroFormat", "CSimdjson",
                .target(name: "ProtobufFormat", condition: .when(traits: ["Protobuf"])),
            ],
            swiftSettings: strict),
        .target(
            name: "IngestCore",
            dependencies: [
                "GraphModel", "GraphCore", "SQLiteStorage", "PostgresStorage", "KafkaClient", "RecordDecoding",
                "RecordFiles", "CZlib",
                .product(name: "Yams", package: "Yams"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .target(
            name: "Inference",
            dependencies: [
                "GraphModel", "GraphCore", "SQLiteStorage", "KafkaClient", "RecordDecoding", "RecordFiles",
                "IngestCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Operations",
            dependencies: [
                "GraphModel", "GraphCore", "SQLiteStorage", "KafkaClient", "RecordDecoding", "IngestCore",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            resources: [.embedInCode("Console/Page")],
            swiftSettings: strict),
        .executableTarget(
            name: "ingest-worker",
            dependencies: [
                .target(name: "CJq", condition: .when(traits: ["Jq"])), "CJemalloc", "IngestCore", "KafkaClient",
                "GraphModel", "GraphCore", "SQLiteStorage", "Inference", "Operations", "RecordDecoding", "RecordFiles",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["KafkaClient"], path: "Tests/TestSupport", swiftSettings: strict),
        .target(
            name: "Simulation",
            dependencies: [
                "IngestCore", "RecordDecoding", "GraphCore", "GraphModel", "MemoryStorage", "KafkaClient",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Simulation", exclude: ["planted"], swiftSettings: strict),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation", "GraphModel", "TestSupport"], path: "Tests/Simulate",
            swiftSettings: strict),
        .testTarget(name: "AvroFormatTests", dependencies: ["AvroFormat"], swiftSettings: strict),
        .testTarget(name: "ProtobufFormatTests", dependencies: ["ProtobufFormat"], swiftSettings: strict),
        .testTarget(name: "KafkaClientTests", dependencies: ["KafkaClient", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "IngestCoreTests",
            dependencies: [
                "IngestCore", "Inference", "Operations", "RecordDecoding", "RecordFiles", "ObjectGraph", "GraphCore",
                "SQLiteStorage", "MemoryStorage", "KafkaClient", "CSimdjson", "CZlib", "TestSupport", "Simulation",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "ingest-worker", "IngestCore", "Inference", "Operations", "RecordDecoding", "RecordFiles",
                "KafkaClient",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ObjectGraphTests",
            dependencies: [
                "ObjectGraph", "GraphModel", "GraphCore", "StoreSQL", "SQLiteStorage", "MemoryStorage",
                "PostgresStorage", "CPostgres", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

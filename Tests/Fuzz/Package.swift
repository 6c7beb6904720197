// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "ingest-worker", path: "../..")],
    targets: [
        .target(name: "CJqOracle", linkerSettings: [.linkedLibrary("jq")]),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "CJqOracle",
                .product(name: "ObjectGraph", package: "ingest-worker"),
                .product(name: "IngestCore", package: "ingest-worker"),
                .product(name: "KafkaClient", package: "ingest-worker"),
                .product(name: "RecordFormats", package: "ingest-worker"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "graph-benchmarks",
    dependencies: [
        .package(name: "ingest-worker", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "graph-benchmarks",
            dependencies: [
                .product(name: "ObjectGraph", package: "ingest-worker"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ])
    ],
    swiftLanguageModes: [.v6]
)

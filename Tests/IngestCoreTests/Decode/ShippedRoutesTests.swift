import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

/// The routes under config/routes, each with sample records, recorded outcomes, and the objects that they end as.
@Suite struct ShippedRoutesTests {
    /// A source with its samples, in the order of their reading.
    struct Source: CustomTestStringConvertible {
        let routes: String
        var topic: String?
        let samples: [String]
        /// Entity, condition and the identities of the objects that meet it in the end.
        let objects: [(entity: String, condition: String, identities: [String])]

        var testDescription: String { routes }
    }

    static let sources = [
        Source(
            routes: "slack-export",
            samples: ["slack-export/users.json", "slack-export/channels.json", "slack-export/general/2024-01-02.json"],
            objects: [
                ("Channel", "ANY members.id = 'U2' AND topic = 'All of us'", ["general"]),
                ("Message", "channel.id = 'general'", ["general/1704200000.000200", "general/1704200060.000300"]),
                ("Message", "parent.author.name = 'ada' AND editedAt != nil", ["general/1704200060.000300"]),
                ("Reaction", "ANY users.isDeleted = true", ["general/1704200000.000200:wave"]),
            ]),
        Source(
            routes: "slack-events", topic: "slack-events", samples: ["slack-events.jsonl"],
            objects: [
                ("Channel", "name = 'everyone' AND ANY members.id = 'U1' AND members.@count = 1", ["C1"]),
                ("Message", "channel.id = 'C1'", ["C1/1704200000.000200", "C1/1704200060.000300"]),
                (
                    "Message", "text = 'Morning!' AND parent.text = 'Good morning' AND author.id = 'U2'",
                    ["C1/1704200060.000300"]
                ),
                ("Reaction", "users.@count = 1 AND ANY users.id = 'U2'", ["C1/1704200060.000300:wave"]),
            ]),
        Source(
            routes: "github-webhooks", topic: "github-webhooks", samples: ["github-webhooks.jsonl"],
            objects: [
                ("Issue", "state = 'closed' AND labels.@count = 0 AND ANY assignees.login = 'ben'", ["9001"]),
                ("Issue", "repository.fullName = 'example/shop' AND commentsCount = 1", ["9001"]),
                ("Comment", "issue.number = 7 AND body = 'I am looking' AND author.login = 'ben'", ["800"]),
                ("Comment", "id != nil", ["800"]),
                ("Label", "color = 'd73a4a'", ["70"]),
            ]),
        Source(
            routes: "matrix", topic: "matrix-events", samples: ["matrix.jsonl"],
            objects: [
                ("Room", "name = 'General' AND topic = 'All of us' AND members.@count = 1", ["!r1:example.org"]),
                ("Message", "room.name = 'General'", ["$e1", "$e3"]),
                ("Message", "body = 'Good morning' AND sender.displayName = 'Ada'", ["$e1"]),
                ("Message", "inReplyTo.body = 'Good morning'", ["$e3"]),
                ("Reaction", "id != nil", ["$r2"]),
            ]),
        Source(
            routes: "maximo", topic: "maximo-workorders", samples: ["maximo.jsonl"],
            objects: [
                ("WorkOrder", "id != nil", ["BEDFORD-1000", "BEDFORD-1001"]),
                (
                    "WorkOrder", "parent.title = 'Overhaul' AND title = 'Pump leaks' AND status = 'APPR'",
                    ["BEDFORD-1001"]
                ),
                ("WorkOrder", "asset.id = 'BEDFORD-11430' AND location.id = 'BEDFORD-BR430'", ["BEDFORD-1001"]),
                ("Material", "order.id = 'BEDFORD-1001' AND quantity = 3", ["BEDFORD-1001-1"]),
            ]),
    ]

    /// The package's folder.
    private static let root = String(#filePath.dropLast("Tests/IngestCoreTests/Decode/ShippedRoutesTests.swift".count))

    @Test(arguments: sources) func `samples become what is recorded, and end as the right objects`(source: Source)
        throws
    {
        let file = "\(Self.root)config/routes/\(source.routes).yaml"
        let configuration = try WorkerConfiguration.load(file: file).configuration
        let model = try ObjectModel.load(path: Self.root + configuration.model)
        let sample = RecordSample(configuration: configuration, model: model)
        let recorded = "\(Self.root)samples/routes/expected/\(source.routes).jsonl"
        var expectation = try SampleExpectation(try String(contentsOfFile: recorded, encoding: .utf8))
        let store = try Store.inMemory(model: model)
        let writer = try WriterContext(store: store)
        for name in source.samples {
            _ = try sample.read(path: "\(Self.root)samples/routes/\(name)", topic: source.topic) { place, outcome in
                expectation.compare(sample.json(place, outcome, hasReason: false))
                if case .event(let event) = outcome { #expect(throws: Never.self) { try apply(event, to: writer) } }
            }
        }
        expectation.finish()
        #expect(expectation.differences.isEmpty, "\(expectation.differences)")
        for (entity, condition, identities) in source.objects {
            let type = try #require(model.entity(matching: entity)).identity.type
            let found = try store.read { reader in
                try reader.fetch(FetchRequest(entity, where: condition)).compactMap {
                    $0["id"].map { type.text(of: $0) }
                }.sorted()
            }
            #expect(found == identities, "\(entity) where \(condition)")
        }
    }

    private func apply(_ event: ChangeSet, to writer: WriterContext) throws {
        _ = try writer.apply(WriterContext.Chunk(events: [event])).check()
        try writer.commit()
    }
}

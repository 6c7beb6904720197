import ObjectGraph
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import RecordDecoding

@Suite struct NotificationBuilderTests {
    private func builder(
        _ granularity: NotificationConfiguration.Granularity = .transaction, maxBytes: Int = 900_000
    ) throws -> NotificationBuilder {
        var configuration = NotificationConfiguration()
        (configuration.granularity, configuration.maxBytes) = (granularity, maxBytes)
        return NotificationBuilder(
            configuration: configuration, storeIdentity: "store-1", model: try TestModels.kinds())
    }

    private func transaction(_ changes: [HistoryChange], token: Int64 = 42, source: String? = "events/0@7")
        -> HistoryTransaction
    {
        HistoryTransaction(
            token: token, time: 1_767_323_045_000_000, author: "a \"worker\"", context: nil, source: source,
            changes: changes)
    }

    private func change(
        _ entity: String, _ identity: Value, _ kind: ChangeKind, properties: [String] = [], tombstone: String? = nil
    ) -> HistoryChange {
        HistoryChange(
            entity: entity, pk: 1, identity: identity, kind: kind, properties: properties, tombstone: tombstone)
    }

    private func changes(_ count: Int) -> [HistoryChange] {
        (0..<count).map { change("WorkOrder", .text("order-\($0)"), .update, properties: ["name", "small"]) }
    }

    // MARK: Per transaction

    @Test func `a transaction is one cloud event`() throws {
        let owner = Value.blob(Array(0...15))
        let notifications = try builder().notifications(
            for: transaction([
                change("WorkOrder", .text("w\"1"), .insert),
                change("Part", .integer(17), .update, properties: ["label", "order"]),
                change("Owner", owner, .delete, tombstone: "{\"name\":\"Al\"}"),
            ]))
        try #require(notifications.count == 1)
        #expect(notifications[0].token == 42 && notifications[0].key == nil)
        #expect(
            try Reading(notifications[0]).text == """
                {"specversion":"1.0","id":"42","source":"/ingest-worker/store-1","type":"store.changed",\
                "time":"2026-01-02T03:04:05Z","datacontenttype":"application/json","data":{"token":42,\
                "author":"a \\"worker\\"","source":"events/0@7","changes":[\
                {"entity":"WorkOrder","id":"w\\"1","change":"insert"},\
                {"entity":"Part","id":17,"change":"update","properties":["label","order"]},\
                {"entity":"Owner","id":"00010203-0405-0607-0809-0a0b0c0d0e0f","change":"delete","tombstone":{"name":"Al"}}]}}
                """)
    }

    @Test func `a missing source is null`() throws {
        let notifications = try builder().notifications(for: transaction(changes(1), source: nil))
        let reading = try Reading(try #require(notifications.first))
        #expect(reading.data["source"] == "null" && reading.data["part"] == nil)
    }

    @Test(arguments: [1200, 2000, 5000, 100_000]) func `a large transaction is split`(maxBytes: Int) throws {
        let all = changes(500)
        let notifications = try builder(maxBytes: maxBytes).notifications(for: transaction(all))
        let readings = try notifications.map { try Reading($0) }
        #expect(notifications.count > 1 || maxBytes == 100_000)
        for (index, reading) in readings.enumerated() where notifications.count > 1 {
            #expect(reading.envelope["id"] == "\"42.\(index + 1)\"")
            #expect(reading.data["part"] == "\(index + 1)")
            #expect(reading.data["last"] == "\(index == notifications.count - 1)")
            #expect(reading.data["token"] == "42" && notifications[index].token == 42)
        }
        #expect(Set(readings.map { $0.envelope["id"] }).count == notifications.count)
        // No part is larger than allowed, none but the last could have taken another change, and the order stays.
        let sizes = notifications.map { $0.value?.utf8.count ?? 0 }
        #expect(sizes.allSatisfy { $0 <= max(maxBytes, 1500) }, "\(sizes)")
        let expected = all.map { "{\"entity\":\"WorkOrder\",\"id\":\"\($0.identity.text ?? "")\"" }
        let found = readings.flatMap(\.changes)
        #expect(found.count == 500 && zip(found, expected).allSatisfy { $0.hasPrefix($1) })
    }

    @Test func `a long source counts when splitting`() throws {
        let source = "file:/" + String(repeating: "a long folder/", count: 200)
        let notifications = try builder(maxBytes: 8000).notifications(for: transaction(changes(300), source: source))
        #expect(notifications.count > 1)
        #expect(notifications.allSatisfy { ($0.value?.utf8.count ?? 0) <= 8000 })
    }

    @Test func `pages of a transaction are its parts`() throws {
        let all = changes(10)
        let pages = [0, 4, 8].map { start in
            HistoryTransaction(
                token: 42, time: 0, author: "a", context: nil, source: nil,
                changes: Array(all[start..<min(start + 4, 10)]), changeCount: 10, firstIndex: start)
        }
        let readings = try pages.enumerated().flatMap { index, page in
            try builder().notifications(for: page, firstPart: index + 1).map { try Reading($0) }
        }
        #expect(readings.map { $0.data["part"] } == ["1", "2", "3"])
        #expect(readings.map { $0.data["last"] } == ["false", "false", "true"])
        #expect(readings.flatMap(\.changes).count == 10)
    }

    @Test func `a change that is too large is shortened`() throws {
        let large = change(
            "WorkOrder", .text("big"), .delete, tombstone: "{\"name\":\"\(String(repeating: "x", count: 5000))\"}")
        let notifications = try builder(maxBytes: 3000).notifications(
            for: transaction([changes(1)[0], large] + changes(1)))
        let readings = try notifications.map { try Reading($0) }
        #expect(readings.map(\.changes.count) == [3])
        let expected = #"{"entity":"WorkOrder","id":"big","change":"delete","shortened":true}"#
        #expect(readings.first?.changes[1] == expected)
    }

    // MARK: Per object

    @Test func `each object has its key and its own identifier`() throws {
        let notifications = try builder(.object).notifications(
            for: transaction([
                change("Part", .integer(17), .insert), change("WorkOrder", .text("w 1"), .update, properties: ["name"]),
                change("Part", .integer(18), .delete),
            ]))
        #expect(notifications.map(\.key) == ["Part:17", "WorkOrder:w 1", "Part:18", "Part:18"])
        #expect(notifications.allSatisfy { $0.token == 42 })
        let readings = try notifications.dropLast().map { try Reading($0) }
        #expect(readings.map { $0.envelope["id"] } == ["\"42.1\"", "\"42.2\"", "\"42.3\""])
        #expect(readings[1].data["entity"] == "\"WorkOrder\"" && readings[1].data["id"] == "\"w 1\"")
        #expect(readings[1].data["change"] == "\"update\"" && readings[1].data["properties"] == "[\"name\"]")
        #expect(readings[1].data["token"] == "42" && readings[1].data["source"] == "\"events/0@7\"")
    }

    @Test func `a deletion is followed by a tombstone`() throws {
        let notifications = try builder(.object).notifications(
            for: transaction([change("Part", .integer(17), .delete, tombstone: "{\"label\":\"L\"}")]))
        try #require(notifications.count == 2)
        #expect(try Reading(notifications[0]).data["tombstone"] == "{\"label\":\"L\"}")
        #expect(notifications[1].key == "Part:17" && notifications[1].value == nil && notifications[1].token == 42)
    }

    @Test func `values come with the object`() throws {
        let notifications = try builder(.object).notifications(
            for: transaction([change("Part", .integer(17), .insert), change("Part", .integer(18), .insert)])
        ) { $0.identity == .integer(17) ? "{\"number\":17,\"label\":\"é\"}" : nil }
        #expect(try Reading(notifications[0]).data["values"] == "{\"number\":17,\"label\":\"é\"}")
        #expect(try Reading(notifications[1]).data["values"] == nil)
    }
}

/// A notification's JSON, read back: members as JSON texts by their names.
struct Reading {
    let text: String
    var envelope: [String: String] = [:]
    var data: [String: String] = [:]
    var changes: [String] = []

    init(_ notification: ChangeNotification) throws {
        let value = try #require(notification.value)
        text = value
        let parser = JSONParser()
        (envelope, data, changes) = try Array(value.utf8).withUnsafeBytes { bytes in
            try parser.withValue(of: bytes) { root in
                func text(_ value: JSONValue) -> String { String(decoding: value.serialized(), as: UTF8.self) }
                func members(_ value: JSONValue) -> [String: String] {
                    var result: [String: String] = [:]
                    for (key, value) in value.members {
                        result[String(decoding: key, as: UTF8.self)] = text(value)
                    }
                    return result
                }
                let changes = root.member("data")?.member("changes")?.elements.map { text($0) } ?? []
                return (members(root), root.member("data").map { members($0) } ?? [:], changes)
            }
        }
    }
}

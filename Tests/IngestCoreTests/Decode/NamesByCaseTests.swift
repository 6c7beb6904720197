import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Entities and properties whose names differ by case only: a record that spells one exactly means that one.
@Suite struct NamesByCaseTests {
    private func model() throws -> ObjectModel {
        try ObjectModel.parse(
            """
            model: cases
            entities:
              Chat:
                identity: id
                attributes:
                  id: { type: string }
                  name: { type: string, optional: true }
                  Name: { type: string, optional: true }
              CHAT:
                identity: id
                attributes: { id: { type: string } }
            """)
    }

    @Test(arguments: [("CHAT", "CHAT"), ("Chat", "Chat"), ("com.example.CHAT", "CHAT"), ("chat", "Chat")])
    func `an event's type means the entity that it spells`(_ subject: String, _ entity: String) throws {
        let decoder = try TestDecoder(try model())
        #expect(try decoder.shown("\(subject).upserted", "{\"id\":\"c\"}") == ["upsert \(entity) c"])
        #expect(try decoder.shown("\(subject).deleted", "{\"id\":\"c\"}") == ["delete \(entity) c"])
    }

    @Test(arguments: [("CHAT", "CHAT"), ("Chat", "Chat"), ("chats", "Chat")])
    func `a table means the entity that it spells`(_ table: String, _ entity: String) throws {
        let decoder = try TestDecoder(try model(), format: .debezium)
        let record = "{\"op\":\"c\",\"source\":{\"table\":\"\(table)\"},\"after\":{\"id\":\"c\"}}"
        #expect(try decoder.shown(record) == ["upsert \(entity) c"])
    }

    @Test(arguments: ["CHAT", "Chat"])
    func `a route leads to the entity that it spells`(_ entity: String) throws {
        let decoder = try TestDecoder(try model(), format: .json, routes: [RouteConfiguration(entity: entity)])
        #expect(try decoder.shown("{\"id\":\"c\"}") == ["upsert \(entity) c"])
    }

    @Test(arguments: [EventFormat.json, .connect, .debezium, .cloudevents])
    func `a field means the property that it spells`(_ format: EventFormat) throws {
        let data = "{\"id\":\"c\",\"name\":\"low\",\"Name\":\"high\"}"
        let routes = format == .cloudevents ? [] : [RouteConfiguration(entity: "Chat")]
        let decoder = try TestDecoder(try model(), format: format, routes: routes)
        let record =
            switch format {
            case .cloudevents: "{\"type\":\"Chat.upserted\",\"data\":\(data)}"
            case .debezium: "{\"op\":\"c\",\"source\":{\"table\":\"Chat\"},\"after\":\(data)}"
            default: data
            }
        #expect(try decoder.shown(record) == ["upsert Chat c name=low Name=high"])
    }
}

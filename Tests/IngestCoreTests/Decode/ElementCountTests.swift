import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Objects and references that a record states count against one limit, in each format.
@Suite struct ElementCountTests {
    private static let model = """
        entities:
          Chat:
            identity: id
            attributes: { id: { type: string }, title: { type: string, optional: true } }
            relationships:
              members: { to: Member, many: true, inverse: chats, delete: nullify, optional: true }
              owner: { to: Member, inverse: owned, delete: nullify, optional: true }
          Member:
            identity: id
            attributes: { id: { type: string }, name: { type: string, optional: true } }
            relationships:
              chats: { to: Chat, many: true, inverse: members, delete: nullify, optional: true }
              owned: { to: Chat, many: true, inverse: owner, delete: nullify, optional: true }
        """

    private func decoder(_ format: EventFormat, _ route: RouteConfiguration? = nil) throws -> TestDecoder {
        var limits = LimitConfiguration()
        limits.maxElements = 3
        return try TestDecoder(
            ObjectModel.parse(Self.model), format: format, routes: route.map { [$0] } ?? [], limits: limits)
    }

    @Test(arguments: [
        #"{"members":["a","b","c"]}"#, #"{"members":{"add":["a","b"],"remove":["c"]}}"#,
        #"{"owner":{"id":"a","name":"A"},"members":["b","c"]}"#,
        #"{"members":[{"id":"a","name":"A"},{"id":"b","name":"B"},"c"]}"#,
    ])
    func `a record with as many as the limit is taken, and one more makes it a dead letter`(_ data: String) throws {
        let members = data.dropFirst()
        for format in [EventFormat.cloudevents, .json, .maxwell] {
            let decoder = try decoder(format, format == .json ? RouteConfiguration(entity: "Chat") : nil)
            func record(_ extra: String) -> String {
                let object = #"{"id":"x",\#(extra)\#(members)"#
                return switch format {
                case .cloudevents: #"{"type":"chat.created","data":\#(object)}"#
                case .maxwell: #"{"type":"insert","table":"chat","data":\#(object)}"#
                default: object
                }
            }
            #expect(decoder.failure(record("")) == nil)
            #expect(decoder.failure(record(#""members":["z"],"#))?.code == "decode.too_many")
            // The count is that of one record.
            #expect(decoder.failure(record("")) == nil)
        }
    }

    @Test func `events of one record count together`() throws {
        let decoder = try decoder(.canal)
        func record(_ rows: String) -> String {
            #"{"type":"INSERT","table":"chat","isDdl":false,"data":[\#(rows)]}"#
        }
        #expect(decoder.failure(record(#"{"id":"1"},{"id":"2"},{"id":"3"}"#)) == nil)
        #expect(decoder.failure(record(#"{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}"#))?.code == "decode.too_many")
    }

    /// To compare or look up a letter with many marks as Unicode does takes quadratic time.
    @Test(arguments: [
        #"{"type":"MARKS","data":{"id":"x"}}"#, #"{"type":"chat.MARKS","data":{"id":"x"}}"#,
        #"{"type":"MARKS.created","data":{"id":"x"}}"#, #"{"type":"chat.created","data":{"id":"x","MARKS":1}}"#,
    ])
    func `a letter of many marks in a name makes a dead letter in linear time`(_ record: String) throws {
        let decoder = try decoder(.cloudevents)
        var route = RouteConfiguration(entity: "Chat")
        (route.type, route.typeField, route.data, route.filter) = ("chat.created", "type", "data", "type = 'b'")
        let routed = try self.decoder(.json, route)
        let problem = problemOfLinearTime(50_000) { count in
            let marks = "a" + String(repeating: "\u{301}\u{316}", count: count)
            let record = record.split(separator: "MARKS", omittingEmptySubsequences: false).joined(separator: marks)
            _ = routed.failure(record)
            return decoder.failure(record)?.code.hasPrefix("decode.") == true
        }
        #expect(problem == nil)
    }
}

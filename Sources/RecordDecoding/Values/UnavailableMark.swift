/// Debezium's mark of a large value that the database did not send because it had not changed.
///
/// Source: Debezium's connector property `unavailable.value.placeholder`, and the class `UnchangedToastedPlaceholder` of
/// its connector for PostgreSQL, which gives the mark the form of the column.
enum UnavailableMark {
    private static let text: StaticString = "__debezium_unavailable_value"
    private static let bytes: StaticString = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
    /// The uuid of the text as a name.
    private static let uuid: StaticString = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
    private static let hstore: StaticString = #"{"__debezium_unavailable_value":"__debezium_unavailable_value"}"#

    /// Tells whether a column's value is the mark: a text, an array of it or of its characters, or an hstore of it.
    static func stands(in json: JSONValue) -> Bool {
        switch json.kind {
        case .string: isSpelled(json)
        case .array where json.count == 1: json.elements.allSatisfy(isSpelled)
        case .array where json.count == text.utf8CodeUnitCount:
            json.elements.enumerated().allSatisfy { $1.int64 == Int64(text.utf8Start[$0]) }
        case .object: json.count == 1 && json.member(text) != nil
        default: false
        }
    }

    private static func isSpelled(_ json: JSONValue) -> Bool {
        guard let found = json.utf8.map({ UnsafeRawBufferPointer($0) }) else { return false }
        return found.hasSameBytes(as: text) || found.hasSameBytes(as: bytes) || found.hasSameBytes(as: uuid)
            || found.hasSameBytes(as: hstore)
    }
}

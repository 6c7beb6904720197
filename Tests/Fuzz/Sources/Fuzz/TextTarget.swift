import ObjectGraph

@testable import GraphCore

/// Texts of values and tokens: what is read is written as a text that reads the same.
struct TextTarget: FuzzTarget {
    func take(_ bytes: UnsafeRawBufferPointer) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        if let time = Timestamp.microseconds(text), Timestamp.microseconds(Timestamp.text(time)) != time {
            throw Broken("a time reads otherwise: \(time)")
        }
        if let id = UUIDText.bytes(text), UUIDText.text(id).flatMap(UUIDText.bytes) != id {
            throw Broken("a UUID reads otherwise")
        }
        if let number = DecimalText.canonical(text), DecimalText.canonical(number) != number {
            throw Broken("a decimal reads otherwise: \(number)")
        }
        if let blob = Base64Text.bytes(text), Base64Text.bytes(Base64Text.text(blob)) != blob {
            throw Broken("base64 reads otherwise")
        }
        if let token = try? HistoryToken(text), try HistoryToken(token.description) != token {
            throw Broken("a token reads otherwise: \(token)")
        }
        let types: [ExpressionType] = [.value(.double), .value(.string), .value(.decimal)]
        if let cursor = try? FetchCursor(text, fingerprint: 0, types: types) {
            if try FetchCursor(cursor.text, fingerprint: 0, types: types) != cursor {
                throw Broken("a cursor reads otherwise: \(cursor)")
            }
            _ = ValueOrder.compare(cursor.values[0], .integer(1))
        }
    }
}

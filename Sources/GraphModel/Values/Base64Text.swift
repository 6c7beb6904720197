import Foundation

/// Binary values as base64 text (RFC 4648, with padding).
public enum Base64Text {
    /// Returns the bytes, or nil where the text is no base64. It may end with a line break, as many tools write it.
    public static func bytes(_ text: String) -> [UInt8]? {
        let content = text.utf8.last == 0x0A ? String(text.dropLast()) : text
        return Data(base64Encoded: content).map { [UInt8]($0) }
    }

    /// Returns the text of bytes.
    public static func text(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }
}

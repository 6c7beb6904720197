/// Finds the place where bytes stop being UTF-8. Used on the error path only.
enum UTF8Fault {
    /// Returns the offset of the first byte of the first malformed sequence, or nil where all is well.
    static func firstOffset(in bytes: UnsafeRawBufferPointer) -> Int? {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }
}

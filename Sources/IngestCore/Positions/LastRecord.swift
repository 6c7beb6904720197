import GraphCore

/// The last record that the store took of a partition: the worker reads it again to know the log again.
///
/// The store keeps it as the `detail` of a position. Its text is the fingerprint's text where the record stands right
/// before the position. Where offsets without a record follow it, `@` and the record's offset follow the fingerprint.
struct LastRecord: Sendable, Equatable {
    let offset: Int64
    let fingerprint: RecordFingerprint

    /// Returns the detail of a position behind the record.
    func detail(before nextOffset: Int64) -> String {
        offset == nextOffset - 1 ? fingerprint.description : "\(fingerprint)@\(offset)"
    }
}

extension LastRecord {
    /// Reads the last record of a position; nil where it keeps none.
    init?(_ position: SourcePosition) {
        guard position.nextOffset > 0, let detail = position.detail else { return nil }
        let parts = detail.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let text = parts.first, let fingerprint = RecordFingerprint(String(text)) else { return nil }
        var offset = position.nextOffset - 1
        if parts.count == 2 {
            guard let own = Int64(parts[1]), (0...offset).contains(own) else { return nil }
            offset = own
        }
        (self.offset, self.fingerprint) = (offset, fingerprint)
    }
}

import GraphCore

extension EventFormat {
    /// JSON whose fields the routes name.
    public static let json = EventFormat("json", RoutedFormat())
}

/// JSON objects whose meaning the routes alone know.
struct RoutedFormat: RecordFormat {
    let needsRoutes = true
    let routesTakeWholeValue = true

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.parse(value)
        if root.kind == .array, !decoder.runsPrograms {
            return try decoder.decodeElements(of: root, record)
        }
        return try decoder.decodeRouted(root.kind == .array ? root : try decoder.object(root), record)
    }

    /// The key names the object.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        try decoder.decodeDeletionByKey(record)
    }
}

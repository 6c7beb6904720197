import GraphCore

/// Turns the records of one topic or file into events.
///
/// Used by one thread: the parser's memory is reused from record to record.
public final class EventDecoder {
    /// Why a record without a fault asks nothing of the store.
    public enum SkipReason: String, Sendable {
        /// The route's filter does not hold.
        case filter
        /// The route drops it.
        case drop
        /// A null value behind a deletion that did the work.
        case tombstone
        /// A row of a table without any value, as spreadsheets write them.
        case empty
        /// It says nothing of rows: a transaction's mark, a change of a table, a message.
        case control
    }

    let model: ObjectModel
    let format: any RecordFormat
    private(set) var routes: [Route]
    let parser: JSONParser
    let objects: ObjectDecoder
    let connect: ConnectValues
    let keys: RecordKeys
    private let contents: RecordContents
    let maximumRecordBytes: Int
    let elements: ElementCount
    /// How values are read that no route takes.
    let values: ValueDecoding
    /// Counts the findings of routes, for samples.
    package private(set) var usage: RouteUsage?
    let types: EventTypeResolver
    var tables: TableResolver
    /// Why the last record's event has no operations, or nil where it has some.
    public internal(set) var skipReason: SkipReason?

    /// Makes a decoder, as ``init(model:format:routes:place:position:limits:nullValues:registry:)`` says.
    ///
    /// - Parameter formatName: names the format in errors.
    init(
        model: ObjectModel, recordFormat: any RecordFormat, formatName: String, routes: [RouteConfiguration],
        place: String, position: ConfigurationPlace, limits: LimitConfiguration, nullValues: [String],
        registry: SchemaRegistry?
    ) throws {
        if recordFormat.needsRoutes, routes.isEmpty {
            throw RouteError(
                location: position.location,
                message: "The format '\(formatName)' of \(place) needs routes that name the entity. "
                    + "Add 'routes: [{entity: …}]'.")
        }
        if !recordFormat.needsRoutes {
            try Self.refuse(routes, of: place, "a jq program") { $0.program != nil }
            try Self.refuse(routes, of: place, "'each'") { $0.each != nil }
        }
        self.model = model
        self.format = recordFormat
        let takesColumns = recordFormat.takesColumns
        var next = 0
        let resolved = try routes.map {
            try Route(
                $0, model: model, place: place, takesColumns: takesColumns, nullValues: nullValues, limits: limits)
        }
        self.routes = Route.numbered(resolved, from: &next)
        values = ValueDecoding(rules: ValueRules(nulls: nullValues, dates: nil))
        maximumRecordBytes = limits.maxRecordBytes
        elements = ElementCount(limits)
        contents = RecordContents(registry, limits: limits)
        keys = RecordKeys(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        parser = JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        connect = ConnectValues(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        objects = ObjectDecoder(model: model, takesColumns: takesColumns, elements: elements)
        types = EventTypeResolver(model)
        tables = TableResolver(model)
    }

    /// Refuses routes with a key that only plain JSON has a meaning for.
    private static func refuse(
        _ routes: [RouteConfiguration], of place: String, _ key: String, where hasKey: (RouteConfiguration) -> Bool
    ) throws(RouteError) {
        guard let route = routes.first(where: hasKey) else { return }
        throw RouteError(
            location: route.place.location,
            message: "A route of \(place) has \(key), which takes plain JSON. Give it 'format: json'")
    }

    /// Decodes a record.
    ///
    /// An event without operations asks nothing of the store; ``skipReason`` says why.
    ///
    /// - Throws: ``DecodeError``.
    public func decode(_ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        skipReason = nil
        elements.reset()
        if let fault = record.fault { throw fault }
        if record.totalBytes > maximumRecordBytes {
            throw DecodeError(
                code: "decode.too_large",
                "The record has \(record.totalBytes) bytes, more than limits.maxRecordBytes (\(maximumRecordBytes)). Send it in "
                    + "parts, or raise the limit. Only its beginning is kept here")
        }
        // The check is all that a record of plain JSON pays for schemas.
        if !RegisteredContent.mayStand(in: record) { return try decodePlain(record) }
        return try contents.plain(record) { record throws(DecodeError) in try decodePlain(record) }
    }

    private func decodePlain(_ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        guard let value = record.value else { return try format.decodeTombstone(record, self) }
        return try format.decode(value, record, self)
    }

    /// Returns the record's value, which has to be an object.
    func object(_ root: JSONValue) throws(DecodeError) -> JSONValue {
        if root.kind == .object { return root }
        throw DecodeError(
            code: "decode.type", "The record has to be a JSON object, not \(ObjectDecoder.article(root))")
    }

    func parse(_ bytes: UnsafeRawBufferPointer) throws(DecodeError) -> JSONValue {
        do {
            return try parser.parse(bytes).root
        } catch {
            throw DecodeError(error)
        }
    }

    /// An event that asks nothing of the store.
    func skipped(_ reason: SkipReason) -> ChangeSet {
        skipReason = reason
        return ChangeSet([])
    }

    /// Whether a record may take as long as the limit of a program.
    package var runsPrograms: Bool { routes.contains { $0.program != nil } }

    /// The places of programs that read times with an offset, which jq 1.6 forgets.
    package var lostOffsets: [String] { routes.compactMap { $0.program?.lostOffsets } }

    /// The objects and references that the last record stated beside its own object.
    package var elementCount: Int { elements.count }

    /// Begins to count the findings of routes, for samples.
    package func beginUsage() -> RouteUsage {
        let usage = RouteUsage(routes)
        self.usage = usage
        return usage
    }

    // MARK: CSV

    /// Returns the decoder of rows of a CSV file with these columns. From then on, the routes take texts for all
    /// values.
    ///
    /// - Throws: ``RouteError`` where no route, or no column, fits.
    package func rowDecoder(columns: [String], path: String) throws -> RowDecoder {
        if routes.isEmpty {
            throw RouteError(
                message:
                    "Nothing says which entity the rows of \(path) are. Add an entry to 'files' whose route names it")
        }
        routes = routes.map { $0.takingTexts() }
        return try RowDecoder(self, columns: columns, path: path)
    }
}

import ObjectGraph

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
    let maximumElements: Int
    /// How values are read that no route takes.
    let values: ValueDecoding
    /// Counts what routes find, for samples.
    var usage: RouteUsage?
    var types: EventTypeResolver
    var tables: TableResolver
    /// Why the last record's event has no operations, or nil where it has some.
    public internal(set) var skipReason: SkipReason?

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - model: the entities that events may name.
    ///   - format: how a record says what it is.
    ///   - routes: what makes events of records that do not say it themselves; the first that matches serves.
    ///   - place: names the topic or file in errors.
    ///   - position: where the topic or file stands in the configuration.
    ///   - limits: the greatest size and depth of a record.
    ///   - nullValues: the texts that stand for null.
    ///   - registry: gives the schemas that records name, or nil.
    /// - Throws: ``RouteError`` where a route does not fit the model, or a ``DecodeError`` that is retriable where the
    ///   process of a program cannot be started.
    public init(
        model: ObjectModel, format: EventFormat, routes: [RouteConfiguration], place: String,
        position: ConfigurationPlace = ConfigurationPlace(), limits: LimitConfiguration = LimitConfiguration(),
        nullValues: [String] = [], registry: SchemaRegistry? = nil
    ) throws {
        let recordFormat = format.recordFormat
        if recordFormat.needsRoutes, routes.isEmpty {
            throw RouteError(
                location: position.location,
                message: "The format '\(format.rawValue)' of \(place) needs routes that name the entity. "
                    + "Add 'routes: [{entity: …}]'.")
        }
        if !recordFormat.needsRoutes, let route = routes.first(where: { $0.program != nil }) {
            throw RouteError(
                location: route.place.location,
                message: "A route of \(place) has a jq program, which takes plain JSON. Give it 'format: json'")
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
        maximumElements = limits.maxElements
        contents = try RecordContents(registry, limits: limits)
        keys = try RecordKeys(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        parser = try JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        connect = try ConnectValues(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
        objects = ObjectDecoder(model: model, takesColumns: takesColumns)
        types = EventTypeResolver(model)
        tables = TableResolver(model)
    }

    /// Decodes a record.
    ///
    /// An event without operations asks nothing of the store; ``skipReason`` says why.
    ///
    /// - Throws: ``DecodeError``.
    public func decode(_ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        skipReason = nil
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
    var runsPrograms: Bool { routes.contains { $0.program != nil } }

    // MARK: CSV

    /// Returns what reads the rows of a CSV file with these columns. From then on, the routes take texts for all values.
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

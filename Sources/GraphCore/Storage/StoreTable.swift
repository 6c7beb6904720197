/// A table of a store with its columns. All storages give them the same names.
package struct StoreTable: Sendable {
    /// The form of a column's values.
    package enum Form: Sendable {
        case integer, text, bytes
        /// 0 or 1.
        case flag
        /// A value of any form, such as an identity in the history.
        case anyValue
        /// As a slot of the hierarchy says.
        case slot(Int)
    }

    package let name: String
    /// The top of the hierarchy whose objects the table holds, or nil.
    package let root: Entity?
    package let columns: [(name: String, form: Form)]

    /// The tables of a store of a model, those of its metadata and its lease left out.
    package static func all(_ model: ObjectModel) -> [StoreTable] {
        model.rootEntities.map { StoreTable($0) } + model.joinTables.map { StoreTable($0) } + own
    }

    package static let metadata = StoreTable("_metadata", [("key", .text), ("value", .text)])
    /// The keys of the metadata that each storage has of its own.
    package static let ownKeys: Set = ["formatVersion", "views", "group", "server"]
    /// The tables whose numbers are given out once.
    package static let numbered = ["_history_transaction", "_dead_letter", "_conflict"]

    private init(_ name: String, _ columns: [(name: String, form: Form)], root: Entity? = nil) {
        self.name = name
        self.columns = columns
        self.root = root
    }

    private init(_ root: Entity) {
        let own: [(String, Form)] = root.sharesTable ? [("_entity", .text)] : []
        let slots = root.columnNames.enumerated().map { ($1, Form.slot($0)) }
        self.init(root.tableName, [("pk", .integer), ("_placeholder", .flag)] + own + slots, root: root)
    }

    private init(_ join: JoinTable) {
        self.init(join.name, (["owner", "destination"] + join.positionColumns).map { ($0, .integer) })
    }

    private static let own = [
        StoreTable("_sequence", [("entity", .text), ("next", .integer)]),
        StoreTable(
            "_history_transaction",
            [
                ("token", .integer), ("time", .integer), ("author", .text), ("context", .text), ("source", .text),
                ("firstChange", .integer), ("changeCount", .integer), ("trace", .text), ("epoch", .integer),
            ]),
        StoreTable(
            "_history_change",
            [
                ("id", .integer), ("token", .integer), ("entity", .text), ("object", .integer),
                ("identity", .anyValue), ("change", .integer), ("properties", .text), ("tombstone", .text),
            ]),
        StoreTable(
            "_history_range",
            [
                ("id", .integer), ("count", .integer), ("token", .integer), ("entity", .text), ("first", .integer),
                ("last", .integer), ("objects", .text), ("change", .integer), ("properties", .text),
            ]),
        StoreTable(
            "_position", [("topic", .text), ("partition", .integer), ("nextOffset", .integer), ("detail", .text)]),
        StoreTable(
            "_dead_letter",
            [
                ("id", .integer), ("time", .integer), ("topic", .text), ("partition", .integer), ("offset", .integer),
                ("line", .integer), ("stage", .text), ("code", .text), ("reason", .text), ("key", .bytes),
                ("value", .bytes), ("valueBytes", .integer), ("headers", .text), ("attempts", .integer),
                (DeadLetter.timestampColumn, .integer),
            ]),
        StoreTable(
            "_tombstone",
            [
                ("entity", .text), ("identity", .anyValue), ("version", .anyValue), ("time", .integer),
                ("token", .integer), ("saved", .integer),
            ]),
        StoreTable(
            "_audit",
            [
                ("id", .integer), ("time", .integer), ("actor", .text), ("action", .text), ("request", .text),
                ("idempotencyKey", .text), ("result", .text),
            ]),
        StoreTable("_cursor", [("name", .text), ("token", .integer), ("time", .integer)]),
        StoreTable(
            "_conflict",
            [
                ("id", .integer), ("token", .integer), ("time", .integer), ("kind", .text), ("entity", .text),
                ("identity", .anyValue), ("property", .text), ("local", .text), ("stored", .text), ("policy", .text),
                ("decision", .text), ("source", .text),
            ]),
    ]
}

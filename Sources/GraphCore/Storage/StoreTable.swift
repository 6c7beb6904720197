/// A table of a store with its columns, in the order in which all storages have them and by the same names.
package struct StoreTable: Sendable {
    /// The form of a column's values.
    package enum Form: Sendable {
        /// A whole number of at most 64, 32 or 16 bits.
        case integer, number32, number16
        case text, bytes
        /// 0 or 1.
        case flag
        /// A value of any form, such as an identity in the history.
        case anyValue
        /// As a slot of the hierarchy says.
        case slot(Int)
    }

    package struct Column: Sendable {
        package let name: String
        package let form: Form
        package var isOptional = false
        package var isUnique = false
        /// The value in rows that are older than the column.
        package var initial: Int?
    }

    package let name: String
    /// The top of the hierarchy whose objects the table holds, or nil.
    package let root: Entity?
    package let columns: [Column]
    /// The columns of the primary key.
    package let key: ArraySlice<Column>

    /// Returns the tables of a store of a model, without its metadata and its lease.
    package static func all(_ model: ObjectModel) -> [StoreTable] {
        model.rootEntities.map { StoreTable($0) } + model.joinTables.map { StoreTable($0) } + own
    }

    /// The keys of the metadata that each storage has of its own.
    package static let ownKeys: Set = ["formatVersion", "views", "group", "server"]
    /// The tables whose numbers are given out once.
    package static let numbered = ["_history_transaction", "_dead_letter", "_conflict"]

    private init(_ name: String, root: Entity? = nil, keyLength: Int = 1, _ columns: [Column]...) {
        self.name = name
        self.root = root
        self.columns = columns.flatMap(\.self)
        key = self.columns.prefix(keyLength)
    }

    package init(_ root: Entity) {
        let slots = root.columnNames.enumerated().map { Column(name: $1, form: .slot($0), isOptional: true) }
        self.init(
            root.tableName, root: root, .some(.integer, "pk"), slots,
            root.sharesTable ? .some(.text, "_entity") : [], .some(.flag, "_placeholder"))
    }

    package init(_ join: JoinTable) {
        let places = join.positionColumns.map { Column(name: $0, form: .integer, isOptional: true) }
        self.init(join.name, keyLength: 2, .some(.integer, "owner", "destination"), places)
    }

    // MARK: The store's own tables

    package static let metadata = StoreTable("_metadata", .some(.text, "key", "value"))

    package static let own = [
        StoreTable("_sequence", .some(.text, "entity"), .some(.integer, "next")), transactions,
        StoreTable(
            "_history_change", .some(.integer, "id", "token"), .some(.text, "entity"), .some(.integer, "object"),
            .optional(.anyValue, "identity"), .some(.number16, "change"), .optional(.text, "properties", "tombstone")),
        ranges,
        StoreTable(
            "_position", keyLength: 2, .some(.text, "topic"), .some(.number32, "partition"),
            .some(.integer, "nextOffset"), .optional(.text, "detail")),
        deadLetters,
        StoreTable(
            "_tombstone", keyLength: 2, .some(.text, "entity"), .some(.anyValue, "identity"),
            .optional(.anyValue, "version"), .optional(.integer, "time"), .some(.integer, "token", "saved")),
        audit,
        StoreTable("_cursor", .some(.text, "name"), .some(.integer, "token", "time")), conflicts,
    ]

    package static let transactions = StoreTable(
        "_history_transaction", .some(.integer, "token", "time"), .some(.text, "author"),
        .optional(.text, "context", "source"), .some(.integer, "firstChange", "changeCount"), .optional(.text, "trace"),
        [Column(name: "epoch", form: .integer, initial: 0)])

    /// Changes alike of many objects, or of a batch request.
    package static let ranges = StoreTable(
        "_history_range", .some(.integer, "id", "count", "token"), .some(.text, "entity"),
        .some(.integer, "first", "last"), .optional(.text, "objects"), .some(.number16, "change"),
        .optional(.text, "properties"))

    package static let deadLetters = StoreTable(
        "_dead_letter", .some(.integer, "id", "time"), .some(.text, "topic"), .some(.number32, "partition"),
        .some(.integer, "offset"), .optional(.integer, "line"), .some(.text, "stage", "code", "reason"),
        .optional(.bytes, "key", "value"), .optional(.integer, "valueBytes"), .optional(.text, "headers"),
        .some(.integer, "attempts"), .optional(.integer, DeadLetter.timestampColumn))

    /// The administrative requests, with their answers.
    package static let audit = StoreTable(
        "_audit", .some(.integer, "id", "time"), .some(.text, "actor", "action", "request"),
        [Column(name: "idempotencyKey", form: .text, isOptional: true, isUnique: true)], .optional(.text, "result"))

    package static let conflicts = StoreTable(
        "_conflict", .some(.integer, "id", "token", "time"), .some(.text, "kind", "entity"),
        .optional(.anyValue, "identity"), .optional(.text, "property", "local", "stored"),
        .some(.text, "policy", "decision"), .optional(.text, "source"))
}

extension [StoreTable.Column] {
    /// Columns that always have a value.
    fileprivate static func some(_ form: StoreTable.Form, _ names: String...) -> Self {
        names.map { StoreTable.Column(name: $0, form: form) }
    }

    /// Columns that may be null.
    fileprivate static func optional(_ form: StoreTable.Form, _ names: String...) -> Self {
        names.map { StoreTable.Column(name: $0, form: form, isOptional: true) }
    }
}

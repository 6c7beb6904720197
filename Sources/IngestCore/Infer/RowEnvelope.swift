import ObjectGraph

/// A record around a row: a change event of a tool for change data capture, which needs a format and no inferred routes.
enum RowEnvelope: String {
    case debezium, maxwell, canal, dms

    /// Recognises a record without its schema wrapper; nil for others.
    init?(_ record: JSONValue) {
        func isText(_ name: StaticString) -> Bool { record.member(name)?.kind == .string }
        if isText("op"), record.member("source")?.kind == .object || record.member("after")?.kind == .object {
            self = .debezium
        } else if isText("database"), isText("table"), isText("type"), record.member("data")?.kind == .object {
            self = .maxwell
        } else if isText("database"), isText("table"), isText("type"), record.member("isDdl")?.kind == .boolean {
            self = .canal
        } else if record.member("metadata")?.member("record-type")?.kind == .string,
            record.member("metadata")?.member("operation")?.kind == .string
        {
            self = .dms
        } else {
            return nil
        }
    }

    private var tool: String {
        switch self {
        case .debezium: "Debezium"
        case .maxwell: "Maxwell"
        case .canal: "Canal"
        case .dms: "AWS DMS"
        }
    }

    /// The table that a record names, or nil.
    private func table(_ record: JSONValue) -> String? {
        switch self {
        case .debezium: record.member("source")?.member("table")?.string
        case .maxwell, .canal: record.member("table")?.string
        case .dms: record.member("metadata")?.member("table-name")?.string
        }
    }

    /// Says why no model is inferred from a record, and which format reads it.
    func error(_ record: JSONValue, at place: String, from source: String) -> InferenceError {
        let page = self == .debezium ? "docs/how-to/debezium.md" : "docs/reference/formats.md"
        let table = table(record).map { ", such as \(DecodeError.shown($0))" } ?? ""
        return InferenceError(
            "init.\(rawValue)",
            "\(place): the records are change events of \(tool), which need no inferred routes",
            remedy: "Write a model with an entity for each table\(table), and give \(source) 'format: \(rawValue)'. "
                + "See \(page)")
    }
}

extension AttributeType {
    /// The name of the column type in the store; SQLite derives the column's affinity from it.
    var columnType: String {
        switch self {
        case .string, .uri, .decimal, .transformable: "TEXT"
        case .integer16, .integer32, .integer64, .boolean, .date: "INTEGER"
        case .double, .float: "REAL"
        case .uuid, .binary: "BLOB"
        }
    }
}

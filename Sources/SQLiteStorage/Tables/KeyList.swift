import StoreSQL

/// Lists of keys in a few fixed widths.
enum KeyList {
    static let maximumWidth = 512

    static func width(for count: Int) -> Int {
        if count <= 1 { return 1 }
        if count <= 8 { return 8 }
        return count <= 64 ? 64 : maximumWidth
    }

    /// Calls `body` with statements about parts of some keys.
    ///
    /// - Parameter statement: returns the statement with a list of parameters, behind `offset` other ones.
    static func forEachPart(
        of keys: [PackedValue], after offset: Int = 0, _ statement: (String) throws(StoreError) -> PreparedStatement,
        body: (PreparedStatement) throws(StoreError) -> Void
    ) throws(StoreError) {
        for start in stride(from: 0, to: keys.count, by: maximumWidth) {
            let part = keys[start..<min(start + maximumWidth, keys.count)]
            let statement = try statement(SQLText.parameters(width(for: part.count)))
            bind(part, to: statement, after: offset)
            try body(statement)
        }
    }

    static func forEachPart(
        of keys: [Int64], _ statement: (String) throws(StoreError) -> PreparedStatement,
        body: (PreparedStatement) throws(StoreError) -> Void
    ) throws(StoreError) {
        try forEachPart(of: keys.map { .integer($0) }, statement, body: body)
    }

    /// Binds keys that the caller keeps until the statement has run.
    static func bind(_ keys: ArraySlice<PackedValue>, to statement: PreparedStatement, after offset: Int = 0) {
        var position = offset + 1
        for key in keys {
            statement.bindKept(position, key)
            position += 1
        }
        let end = offset + width(for: keys.count)
        while position <= end {
            statement.bindNull(position)
            position += 1
        }
    }
}

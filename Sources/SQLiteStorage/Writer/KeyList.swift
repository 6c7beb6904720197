/// Lists of keys in a few fixed widths.
enum KeyList {
    static let maximumWidth = 512

    static func width(for count: Int) -> Int {
        if count <= 1 { return 1 }
        if count <= 8 { return 8 }
        return count <= 64 ? 64 : maximumWidth
    }

    static func bind(_ keys: ArraySlice<Value>, to statement: PreparedStatement, after offset: Int = 0) {
        var position = offset + 1
        for key in keys {
            statement.bind(position, key)
            position += 1
        }
        let end = offset + width(for: keys.count)
        while position <= end {
            statement.bindNull(position)
            position += 1
        }
    }
}

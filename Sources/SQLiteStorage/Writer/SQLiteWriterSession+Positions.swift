extension SQLiteWriterSession {
    /// Saves a position where the store holds what it has to follow.
    ///
    /// - Throws: ``StoreError`` with code `store.position_conflict` where the store holds something else.
    func put(_ position: SourcePosition) throws(StoreError) {
        switch position.predecessor {
        case .anything: try insert(position, replaces: true)
        case .nothing:
            try insert(position, replaces: false)
            if changedRowCount == 0 { throw StoreError.positionConflict(position) }
        case .offset(let offset):
            try update(position, from: offset)
            if changedRowCount == 0 { throw StoreError.positionConflict(position) }
        }
    }

    private func insert(_ position: SourcePosition, replaces: Bool) throws(StoreError) {
        let resolution =
            replaces ? "UPDATE SET nextOffset = excluded.nextOffset, detail = excluded.detail" : "NOTHING"
        try run(
            """
            INSERT INTO _position (topic, partition, nextOffset, detail) VALUES (?, ?, ?, ?) \
            ON CONFLICT (topic, partition) DO \(resolution)
            """, position.topic, Int64(position.partition), position.nextOffset, position.detail)
    }

    private func update(_ position: SourcePosition, from offset: Int64) throws(StoreError) {
        try run(
            "UPDATE _position SET nextOffset = ?, detail = ? WHERE topic = ? AND partition = ? AND nextOffset = ?",
            position.nextOffset, position.detail, position.topic, Int64(position.partition), offset)
    }
}

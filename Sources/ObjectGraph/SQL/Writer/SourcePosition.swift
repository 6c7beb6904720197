/// Where a source is to be read from next.
public struct SourcePosition: Sendable, Hashable {
    /// What the store has to hold for a position to be saved over it.
    public enum Predecessor: Sendable, Hashable {
        /// The store may hold anything.
        case anything
        /// The store must not know the source yet.
        case nothing
        /// The store must hold this next offset.
        case offset(Int64)
    }

    /// The topic's name, or `file:` and the file's path.
    public var topic: String
    /// The partition's number; 0 for a file.
    public var partition: Int32
    /// The offset of the next record of a partition, or the number of records of a file that are done.
    public var nextOffset: Int64
    /// What tells a file from another one at the same path, or a partition's last record from another one at the same
    /// offset; nil where nothing is known.
    public var detail: String?
    /// What the store has to hold, so that a writer which does not know the newest position saves nothing.
    public var predecessor: Predecessor = .anything

    /// Makes a position to save with the chunk that it follows.
    public init(topic: String, partition: Int32, nextOffset: Int64, detail: String? = nil) {
        self.topic = topic
        self.partition = partition
        self.nextOffset = nextOffset
        self.detail = detail
    }
}

extension WriterConnection {
    /// Saves a position where the store holds what it has to follow.
    ///
    /// - Throws: ``StoreError`` with code `store.position_conflict` where the store holds something else.
    func put(_ position: SourcePosition) throws(StoreError) {
        switch position.predecessor {
        case .anything: try insert(position, replaces: true)
        case .nothing:
            try insert(position, replaces: false)
            if changedRowCount == 0 { throw conflict(position) }
        case .offset(let offset):
            try update(position, from: offset)
            if changedRowCount == 0 { throw conflict(position) }
        }
    }

    private func insert(_ position: SourcePosition, replaces: Bool) throws(StoreError) {
        let resolution =
            replaces ? "UPDATE SET nextOffset = excluded.nextOffset, detail = excluded.detail" : "NOTHING"
        let statement = try statement(
            """
            INSERT INTO _position (topic, partition, nextOffset, detail) VALUES (?, ?, ?, ?) \
            ON CONFLICT (topic, partition) DO \(resolution)
            """)
        statement.bind(1, position.topic)
        statement.bind(2, Int64(position.partition))
        statement.bind(3, position.nextOffset)
        statement.bind(4, position.detail)
        try statement.run()
    }

    private func update(_ position: SourcePosition, from offset: Int64) throws(StoreError) {
        let statement = try statement(
            "UPDATE _position SET nextOffset = ?, detail = ? WHERE topic = ? AND partition = ? AND nextOffset = ?")
        statement.bind(1, position.nextOffset)
        statement.bind(2, position.detail)
        statement.bind(3, position.topic)
        statement.bind(4, Int64(position.partition))
        statement.bind(5, offset)
        try statement.run()
    }

    private func conflict(_ position: SourcePosition) -> StoreError {
        StoreError(
            .positionConflict,
            "Somebody else has saved the position of \(position.topic)/\(position.partition) meanwhile",
            remedy: "Nothing of the chunk was saved; read on from the store's positions")
    }
}

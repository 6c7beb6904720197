import GRDB

/// A record that could not be decoded or applied, as the store keeps it.
public struct DeadLetter: Sendable {
    /// The letter's number in the store; 0 before it is saved.
    public var id: Int64 = 0
    /// When it was put aside, in microseconds since 1970 UTC.
    public var time: Int64
    /// The topic's name, or `file:` and the file's path.
    public var topic: String
    /// The partition's number; 0 for a file.
    public var partition: Int32
    /// The record's offset, or its number in a file, counted from 1.
    public var offset: Int64
    /// The line of a file, counted from 1, or nil.
    public var line: Int?
    /// Where it failed: `decode`, `apply`.
    public var stage: String
    /// A stable code of the reason.
    public var code: String
    /// The reason in words, with the remedy.
    public var reason: String
    /// The record's key, or nil where it has none.
    public var key: [UInt8]?
    /// The record's bytes; of an oversized record only the beginning.
    public var value: [UInt8]?
    /// The record's full size in bytes.
    public var valueBytes: Int
    /// The record's headers as a JSON array of `[name, base64]`, or nil.
    public var headers: String?
    /// How often the record failed: at first, again from the same place with the same bytes, and in retries.
    public var attempts: Int = 1

    /// Makes a letter to be saved; the store numbers it. The properties say what each value means.
    public init(
        time: Int64, topic: String, partition: Int32, offset: Int64, line: Int? = nil, stage: String, code: String,
        reason: String, key: [UInt8]?, value: [UInt8]?, valueBytes: Int, headers: String? = nil
    ) {
        self.time = time
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.line = line
        self.stage = stage
        self.code = code
        self.reason = reason
        self.key = key
        self.value = value
        self.valueBytes = valueBytes
        self.headers = headers
    }
}

extension DeadLetter {
    /// Where the store keeps how far letters were sent to a topic. No cursor of the history: numbers of letters are no
    /// tokens, and hold no history back.
    static func cursorKey(_ topic: String) -> String { "sentDeadLetter:\(topic)" }
}

/// Which dead letters are meant; every condition that is given has to hold.
public struct DeadLetterSelection: Sendable {
    /// The numbers of the letters, or nil for any.
    public var ids: [Int64]?
    /// The topic, or nil for any.
    public var topic: String?
    /// The partition, or nil for any.
    public var partition: Int32?
    /// The stage, `decode` or `apply`, or nil for any.
    public var stage: String?
    /// The code, or nil for any.
    public var code: String?
    /// Those put aside before this time, in microseconds since 1970 UTC, or nil for any.
    public var before: Int64?
    /// Those put aside at this time or later, in microseconds since 1970 UTC, or nil for any.
    public var since: Int64?
    /// A part of the reason, in any case of ASCII letters, or nil for any.
    public var reason: String?

    /// Makes a selection of all letters.
    public init() {}

    var sql: (condition: String, arguments: StatementArguments) {
        var conditions: [String] = []
        var arguments = StatementArguments()
        func add(_ condition: String, _ value: (any DatabaseValueConvertible)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments += [value]
        }
        add("id IN (SELECT value FROM json_each(?))", ids.map { "[\($0.map { String($0) }.joined(separator: ","))]" })
        add("topic = ?", topic)
        add("partition = ?", partition)
        add("stage = ?", stage)
        add("code = ?", code)
        add("time < ?", before)
        add("time >= ?", since)
        add("instr(lower(reason), lower(?)) > 0", reason)
        return (conditions.isEmpty ? "1" : conditions.joined(separator: " AND "), arguments)
    }
}

extension ReadContext {
    private static let columns =
        """
        id, CAST(time AS INTEGER), CAST(topic AS TEXT), max(min(CAST(partition AS INTEGER), 2147483647), 0), \
        CAST(offset AS INTEGER), CAST(line AS INTEGER), CAST(stage AS TEXT), CAST(code AS TEXT), \
        CAST(reason AS TEXT), key, value, CAST(valueBytes AS INTEGER), CAST(headers AS TEXT), CAST(attempts AS INTEGER)
        """

    /// Returns the number of dead letters.
    public func deadLetterCount(_ selection: DeadLetterSelection = DeadLetterSelection()) throws -> Int {
        let (condition, arguments) = selection.sql
        let sql = "SELECT count(*) FROM _dead_letter WHERE \(condition)"
        return try Int.fetchOne(database, sql: sql, arguments: arguments) ?? 0
    }

    /// Returns the number of the last dead letter, or 0.
    public func lastDeadLetterID() throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(id) FROM _dead_letter") ?? 0
    }

    /// Returns dead letters in the order of their numbers, those after `id`, at most `limit`.
    public func deadLetters(
        _ selection: DeadLetterSelection = DeadLetterSelection(), after id: Int64 = 0, limit: Int = 100
    ) throws -> [DeadLetter] {
        let (condition, arguments) = selection.sql
        let sql = "SELECT \(Self.columns) FROM _dead_letter WHERE \(condition) AND id > ? ORDER BY id LIMIT ?"
        return try Row.fetchAll(database, sql: sql, arguments: arguments + [id, limit]).map(letter)
    }

    /// Returns dead letters in the order of their numbers, those after `id`, at most `limit`, and no more than have
    /// `maximumBytes` of values together unless the first alone has more.
    public func deadLetters(after id: Int64, limit: Int, maximumBytes: Int) throws -> [DeadLetter] {
        let sql = "SELECT id, ifnull(length(value), 0) FROM _dead_letter WHERE id > ? ORDER BY id LIMIT ?"
        var bytes = 0
        let sizes = try Row.fetchAll(database, sql: sql, arguments: [id, limit])
        let fitting = sizes.prefix { row in
            defer { bytes += row[1] }
            return bytes == 0 || bytes + row[1] <= maximumBytes
        }
        return fitting.isEmpty ? [] : try deadLetters(after: id, limit: fitting.count)
    }

    /// Returns the number of dead letters after `id`.
    public func deadLetterCount(after id: Int64) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM _dead_letter WHERE id > ?", arguments: [id]) ?? 0
    }

    /// Returns the number of the last dead letter that was sent to a topic, or 0.
    public func sentDeadLetter(topic: String) throws -> Int64 {
        try metadata(DeadLetter.cursorKey(topic)).flatMap { Int64($0) } ?? 0
    }

    /// Returns the numbers of dead letters with the sizes of their records, in the order of their original positions:
    /// by topic, partition and offset.
    public func deadLetterIDs(_ selection: DeadLetterSelection) throws -> [(id: Int64, bytes: Int)] {
        let (condition, arguments) = selection.sql
        let sql = """
            SELECT id, ifnull(length(value), 0) FROM _dead_letter WHERE \(condition) \
            ORDER BY topic, partition, offset, id
            """
        return try Row.fetchAll(database, sql: sql, arguments: arguments).map { ($0[0], $0[1]) }
    }

    /// Returns the dead letter of a number, or nil where there is none.
    public func deadLetter(_ id: Int64) throws -> DeadLetter? {
        let sql = "SELECT \(Self.columns) FROM _dead_letter WHERE id = ?"
        return try Row.fetchOne(database, sql: sql, arguments: [id]).map(letter)
    }

    private func letter(_ row: Row) -> DeadLetter {
        var letter = DeadLetter(
            time: row[1], topic: row[2], partition: row[3], offset: row[4], line: row[5], stage: row[6],
            code: row[7], reason: row[8], key: bytes(row[9]), value: bytes(row[10]), valueBytes: row[11] ?? 0,
            headers: row[12])
        letter.id = row[0]
        letter.attempts = row[13]
        return letter
    }

    private func bytes(_ value: (any DatabaseValueConvertible)?) -> [UInt8]? {
        guard let value, case .blob(let data) = value.databaseValue.storage else { return nil }
        return [UInt8](data)
    }
}

extension Schema {
    /// Finds the letters of a record's place. Stores of earlier versions get it when they are opened for writing.
    static let deadLetterIndex =
        "CREATE INDEX IF NOT EXISTS _dead_letter_place ON _dead_letter (topic, partition, offset)"
}

extension WriterConnection {
    /// Saves letters; of one that the store has already, the record's bytes included, it counts another attempt.
    func append(_ letters: [DeadLetter]) throws(StoreError) {
        if letters.isEmpty { return }
        let last = try integer("SELECT max(id) FROM _dead_letter") ?? 0
        for letter in letters { try append(letter) }
        try countRepeats(after: last)
    }

    /// Where reading goes back, as in a topic that lost its end, the same letters come again: the first of each stays,
    /// with the new reason. Another record at the place, as in a topic that was made anew, is another letter.
    private func countRepeats(after last: Int64) throws(StoreError) {
        let isSame = """
            kept.topic = fresh.topic AND kept.partition = fresh.partition AND kept.offset = fresh.offset \
            AND kept.id < fresh.id AND kept.valueBytes IS fresh.valueBytes AND kept.key IS fresh.key \
            AND kept.headers IS fresh.headers AND kept.value IS fresh.value
            """
        let index = "kept INDEXED BY _dead_letter_place"
        let count = try statement(
            """
            UPDATE _dead_letter SET attempts = attempts + repeats.times, (stage, code, reason) = \
            (SELECT stage, code, reason FROM _dead_letter WHERE id = repeats.latest) \
            FROM (SELECT earliest, count(*) AS times, max(id) AS latest FROM \
            (SELECT fresh.id, min(kept.id) AS earliest FROM _dead_letter fresh CROSS JOIN _dead_letter \(index) \
            WHERE fresh.id > ? AND \(isSame) GROUP BY fresh.id) GROUP BY earliest) AS repeats \
            WHERE _dead_letter.id = repeats.earliest
            """)
        count.bind(1, last)
        try count.run()
        if changedRowCount == 0 { return }
        let removal = try statement(
            """
            DELETE FROM _dead_letter AS fresh WHERE id > ? \
            AND EXISTS (SELECT 1 FROM _dead_letter \(index) WHERE \(isSame))
            """)
        removal.bind(1, last)
        try removal.run()
    }

    private func append(_ letter: DeadLetter) throws(StoreError) {
        let statement = try statement(
            """
            INSERT INTO _dead_letter (time, topic, partition, offset, line, stage, code, reason, key, value, \
            valueBytes, headers, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        statement.bind(1, letter.time)
        statement.bind(2, letter.topic)
        statement.bind(3, Int64(letter.partition))
        statement.bind(4, letter.offset)
        statement.bind(5, letter.line.map { Int64($0) })
        statement.bind(6, letter.stage)
        statement.bind(7, letter.code)
        statement.bind(8, letter.reason)
        statement.bind(9, letter.key)
        statement.bind(10, letter.value)
        statement.bind(11, letter.valueBytes)
        statement.bind(12, letter.headers)
        statement.bind(13, letter.attempts)
        try statement.run()
    }

    /// Removes a dead letter whose record has been applied or is not wanted.
    func removeDeadLetter(_ id: Int64) throws(StoreError) {
        let statement = try statement("DELETE FROM _dead_letter WHERE id = ?")
        statement.bind(1, id)
        try statement.run()
    }

    /// Notes that a dead letter was tried again in vain, and why.
    func noteAttempt(_ attempt: FailedAttempt) throws(StoreError) {
        let statement = try statement(
            "UPDATE _dead_letter SET attempts = attempts + 1, stage = ?, code = ?, reason = ? WHERE id = ?")
        statement.bind(1, attempt.stage)
        statement.bind(2, attempt.code)
        statement.bind(3, attempt.reason)
        statement.bind(4, attempt.id)
        try statement.run()
    }
}

extension WriterConnection {
    func putMetadata(_ key: String, _ value: String) throws(StoreError) {
        let statement = try statement(
            "INSERT INTO _metadata (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
        statement.bind(1, key)
        statement.bind(2, value)
        try statement.run()
    }
}

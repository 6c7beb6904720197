extension DeadLetter {
    /// Where the store keeps how far letters were sent to a topic. No cursor of the history: numbers of letters are no
    /// tokens, and hold no history back.
    static func cursorKey(_ topic: String) -> String { "sentDeadLetter:\(topic)" }
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

    /// Where reading goes back, as in a topic that lost its end, the same letters come again. The first of each stays, with
    /// the new reason. Another record at the place, as in a topic that was made again, is another letter.
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

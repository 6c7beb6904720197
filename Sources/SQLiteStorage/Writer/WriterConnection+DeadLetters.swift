extension Schema {
    /// Finds the letters of a record's place. Stores of earlier versions get it when they are opened for writing.
    static let deadLetterIndex =
        "CREATE INDEX IF NOT EXISTS _dead_letter_place ON _dead_letter (topic, partition, offset)"

    static let deadLetterTimestamp = "\(DeadLetter.timestampColumn) INTEGER"
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
    /// the new reason and the last known timestamp. Another record at the place, as in a topic that was made again, is
    /// another letter.
    private func countRepeats(after last: Int64) throws(StoreError) {
        let isSame = """
            kept.topic = fresh.topic AND kept.partition = fresh.partition AND kept.offset = fresh.offset \
            AND kept.id < fresh.id AND kept.valueBytes IS fresh.valueBytes AND kept.key IS fresh.key \
            AND kept.headers IS fresh.headers AND kept.value IS fresh.value
            """
        let index = "kept INDEXED BY _dead_letter_place"
        try run(
            """
            UPDATE _dead_letter SET attempts = attempts + repeats.times, (stage, code, reason, timestampMilliseconds) = \
            (SELECT l.stage, l.code, l.reason, ifnull(l.timestampMilliseconds, _dead_letter.timestampMilliseconds) \
            FROM _dead_letter l WHERE l.id = repeats.latest) \
            FROM (SELECT earliest, count(*) AS times, max(id) AS latest FROM \
            (SELECT fresh.id, min(kept.id) AS earliest FROM _dead_letter fresh CROSS JOIN _dead_letter \(index) \
            WHERE fresh.id > ? AND \(isSame) GROUP BY fresh.id) GROUP BY earliest) AS repeats \
            WHERE _dead_letter.id = repeats.earliest
            """, last)
        if changedRowCount == 0 { return }
        try run(
            """
            DELETE FROM _dead_letter AS fresh WHERE id > ? \
            AND EXISTS (SELECT 1 FROM _dead_letter \(index) WHERE \(isSame))
            """, last)
    }

    private func append(_ letter: DeadLetter) throws(StoreError) {
        try run(
            """
            INSERT INTO _dead_letter (time, topic, partition, offset, line, stage, code, reason, key, value, \
            valueBytes, headers, attempts, timestampMilliseconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            letter.time, letter.topic, Int64(letter.partition), letter.offset, letter.line.map { Int64($0) },
            letter.stage, letter.code, letter.reason, letter.key, letter.value, letter.valueBytes, letter.headers,
            letter.attempts, letter.timestampMilliseconds)
    }

    /// Removes a dead letter whose record has been applied or is not wanted.
    func removeDeadLetter(_ id: Int64) throws(StoreError) {
        try run("DELETE FROM _dead_letter WHERE id = ?", id)
    }

    /// Notes that a dead letter was tried again in vain, and why.
    func noteAttempt(_ attempt: FailedAttempt) throws(StoreError) {
        try run(
            "UPDATE _dead_letter SET attempts = attempts + 1, stage = ?, code = ?, reason = ? WHERE id = ?",
            attempt.stage, attempt.code, attempt.reason, attempt.id)
    }
}

extension WriterConnection {
    func putMetadata(_ key: String, _ value: String) throws(StoreError) {
        try run(
            "INSERT INTO _metadata (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key, value)
    }
}

extension SQLiteWriterSession {
    /// Saves letters; of one that the store has already, the record's bytes included, it counts another attempt.
    func append(_ letters: [DeadLetter]) throws(StoreError) {
        if letters.isEmpty { return }
        let last = try integer("SELECT max(id) FROM _dead_letter") ?? 0
        for letter in letters { try append(letter) }
        let repeats = repeats(after: "\(bind: last)")
        if try change(repeats.counting, "save") > 0 { try execute(repeats.removal) }
    }

    private static let letterInsertion = insertion(into: .deadLetters)

    private func append(_ letter: DeadLetter) throws(StoreError) {
        try run(
            Self.letterInsertion, letter.time, letter.topic, Int64(letter.partition), letter.offset,
            letter.line.map { Int64($0) }, letter.stage, letter.code, letter.reason, letter.key, letter.value,
            letter.valueBytes, letter.headers,
            letter.attempts, letter.timestampMilliseconds)
    }

    /// Removes a dead letter whose record has been applied or is not wanted.
    func removeDeadLetter(_ id: Int64) throws(StoreError) {
        try run("DELETE FROM _dead_letter WHERE id = ?", id)
    }

    /// Notes that a dead letter failed again, and why.
    func noteAttempt(_ attempt: FailedAttempt) throws(StoreError) {
        try run(
            "UPDATE _dead_letter SET attempts = attempts + 1, stage = ?, code = ?, reason = ? WHERE id = ?",
            attempt.stage, attempt.code, attempt.reason, attempt.id)
    }
}

extension SQLiteWriterSession {
    func putMetadata(_ key: String, _ value: String) throws(StoreError) {
        try run(
            "INSERT INTO _metadata (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key, value)
    }
}

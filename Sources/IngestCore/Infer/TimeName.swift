/// Tells what a column's name says about time.
enum TimeName {
    private static let times: Set<String> = [
        "at", "atime", "begin", "birthday", "closed", "created", "ctime", "deadline", "deleted", "due", "end", "ended",
        "epoch", "exp", "expiration", "expired", "expires", "expiry", "finished", "iat", "nbf", "occurred",
        "opened", "published", "received", "seen", "sent", "since", "start", "started", "t", "ts", "until", "when",
    ]
    private static let changes: Set<String> = [
        "changed", "edited", "lsn", "modified", "mtime", "rev", "revision", "seq", "sequence", "touched", "updated",
        "version",
    ]

    /// Tells whether a name speaks of an instant: `createdAt`, `last_seen`, `ts_ms`.
    static func isTime(_ name: String) -> Bool {
        words(name).contains { word in
            times.contains(word) || changes.contains(word) || ["time", "date", "stamp"].contains { word.hasSuffix($0) }
        }
    }

    /// Tells whether a name speaks of the last change, which tells versions apart: `updated_at`, `version`.
    static func isChange(_ name: String) -> Bool {
        words(name).contains { changes.contains($0) || $0 == "changedate" }
    }

    /// The words of a name in small letters: `createdAt` and `created_at` have two.
    private static func words(_ name: String) -> [String] {
        var words: [String] = []
        var word = ""
        for character in name {
            let endsWord = !character.isLetter || character.isUppercase && word.last?.isLowercase == true
            if endsWord, !word.isEmpty {
                words.append(word.lowercased())
                word = ""
            }
            if character.isLetter { word.append(character) }
        }
        return word.isEmpty ? words : words + [word.lowercased()]
    }
}

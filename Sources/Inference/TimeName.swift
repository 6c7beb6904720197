/// Recognises the kind of time in a column's name.
enum TimeName {
    private static let times: Set<String> = [
        "at", "atime", "begin", "birthday", "closed", "created", "ctime", "deadline", "deleted", "due", "end", "ended",
        "epoch", "exp", "expiration", "expired", "expires", "expiry", "finished", "iat", "nbf", "occurred",
        "opened", "published", "received", "seen", "sent", "since", "start", "started", "t", "ts", "until", "when",
    ]
    /// A place among others, which a detail of an order has, and never a version.
    private static let positions: Set<String> = [
        "index", "line", "lineno", "no", "nr", "ordinal", "pos", "position", "seq", "seqno", "sequence", "sequential",
    ]
    private static let flags: Set<String> = [
        "active", "archived", "can", "deleted", "disabled", "enabled", "flag", "has", "is", "locked", "public",
        "visible",
    ]
    private static let changes: Set<String> = [
        "changed", "edited", "lsn", "modified", "mtime", "rev", "revision", "touched", "updated", "version",
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

    /// Tells whether a name speaks of a place among others: `line_no`, `stop_sequence`.
    static func isPosition(_ name: String) -> Bool { words(name).last.map(positions.contains) ?? false }

    /// Tells whether a name speaks of true or false: `is_open`, `active`.
    static func isFlag(_ name: String) -> Bool { words(name).contains(where: flags.contains) }

    /// The words of a name in small letters: `createdAt` and `created_at` have two.
    static func words(_ name: String) -> [String] {
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

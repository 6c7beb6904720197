import GraphCore

/// A long work on the store that a worker or a command has to end first.
package struct StoreWork: Decodable, Sendable, Equatable {
    /// The kinds of work; the raw values are stable.
    package enum Kind: String, Decodable, Sendable, CaseIterable {
        /// The store becomes one of another model.
        case migration
        /// A new store is built from the topics, to take the old one's place.
        case rebuild
        /// The whole store is verified, since its disk failed.
        case verification

        /// The kind whose check of readiness has a name, or nil.
        package init?(check: String) {
            guard let kind = Self.allCases.first(where: { $0.check == check }) else { return nil }
            self = kind
        }

        /// The check of readiness that fails until the work ends. A verification is a part of the start.
        var check: String { self == .verification ? "startup" : rawValue }

        /// The work in words, as a sentence begins.
        package var title: String {
            switch self {
            case .migration: "Migrating the store"
            case .rebuild: "Rebuilding the store"
            case .verification: "Verifying the store"
            }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case kind, share
        case phrase = "step"
    }

    /// The kind of work.
    package let kind: Kind
    /// The step in words, such as `copying, 43 %, 2 min 5 s left`.
    package let phrase: String
    /// The part of the step that is done, from 0 to 1; nil where its end is not known.
    package let share: Double?
}

extension StoreWork: JSONWritable {
    /// The work as a JSON object.
    package var json: String {
        let share = share.map { ($0 * 1000).rounded(.down) / 1000 }
        return JSONObject(["kind": kind.rawValue, "step": phrase, "share": share]).json
    }
}

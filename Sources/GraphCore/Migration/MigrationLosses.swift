/// The rows, links and values of a store that have no place in its new model.
public struct MigrationLosses: Sendable, Equatable {
    /// The number of rows of each entity that is removed.
    public var rows: [String: Int64] = [:]
    /// The number of links of each relationship that end, by entity and relationship: `Chat.tags`. A reference of a row
    /// that goes with its entity is none of them.
    public var links: [String: Int64] = [:]
    /// The number of values of each attribute that is removed, by entity and attribute: `Member.email`.
    public var values: [String: Int64] = [:]

    /// Creates losses; none by default.
    public init() {}

    /// Tells whether nothing is lost.
    public var isEmpty: Bool { lines.isEmpty }

    /// The losses in words, a line for each entity or property.
    public var lines: [String] {
        parts.flatMap { noun, counts in
            counts.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.key): \(counted($0.value, noun))" }
        }
    }

    private var parts: [(noun: String, counts: [String: Int64])] {
        [("row", rows), ("link", links), ("value", values)]
    }

    /// Adds the losses of another stage. With `max`, merges a further count of the same stage instead.
    package mutating func add(_ other: MigrationLosses, by combine: (Int64, Int64) -> Int64 = (+)) {
        rows.merge(other.rows, uniquingKeysWith: combine)
        links.merge(other.links, uniquingKeysWith: combine)
        values.merge(other.values, uniquingKeysWith: combine)
    }

    // MARK: Notes

    /// The losses as a text for a later run of the migration.
    package var note: String {
        parts.flatMap { noun, counts in counts.map { "\(noun)\t\($0.key)\t\($0.value)" } }.sorted()
            .joined(separator: "\n")
    }

    /// Reads the note of an earlier run.
    package init(note: String) {
        for line in note.split(separator: "\n") {
            let parts = line.split(separator: "\t").map(String.init)
            guard parts.count == 3, let count = Int64(parts[2]) else { continue }
            switch parts[0] {
            case "row": rows[parts[1]] = count
            case "link": links[parts[1]] = count
            default: values[parts[1]] = count
            }
        }
    }
}

extension MigrationError {
    /// - Parameter losses: at least one.
    package static func losses(_ losses: MigrationLosses) -> MigrationError {
        MigrationError(
            .losses, "The migration would drop what the new model has no place for",
            remedy: "State renaming with renamedFrom, or consent with 'migrate --allow-loss'; the store is as it was",
            details: losses.lines)
    }
}

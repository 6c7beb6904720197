/// The words for what a verification finds, the same on each storage.
package enum StoreProblem {
    package static func brokenKey(row: Int64, table: String) -> String {
        "row \(row) refers to a row of \(table) that is not there"
    }

    package static func noIdentity(key: Int64) -> String { "the object with key \(key) has no identity" }

    package static func sharedIdentity(count: Int64) -> String { "\(count) objects have this identity" }

    package static let required =
        "is required and has no value \(ValidationFailure.Reason.missingMandatory.number())"

    package static func unstored(_ type: AttributeType) -> String { "is not \(type.expectation) in stored form" }

    package static let noJSON = "is no JSON"

    package static func limit(_ failure: ValidationFailure) -> String { "\(failure.limit) \(failure.number)" }

    package static func destinationCount(_ number: Int64, _ relationship: Relationship) -> String {
        let isFew = number < relationship.minimumCount
        let reason: ValidationFailure.Reason = isFew ? .tooFewDestinations : .tooManyDestinations
        let (verb, limit) =
            isFew
            ? ("needs at least", relationship.minimumCount) : ("may have at most", relationship.maximumCount ?? 0)
        return "\(verb) \(counted(limit, "object")), this one has \(number) \(reason.number())"
    }

    // MARK: Relationships

    package static func dangling(_ entity: String) -> String { "leads to a \(entity) that is not there" }

    package static func danglingLink(_ pair: Pair, _ entity: String) -> String {
        "the link \(pair.owner)–\(pair.destination) leads to a \(entity) that is not there"
    }

    package static let oneWayLink = "a link has no counterpart in the other direction"

    package static func noWayBack(_ entity: String, _ inverse: String) -> String {
        "leads to a \(entity) whose '\(inverse)' does not lead back"
    }

    package static func foreignEntity(_ name: String) -> String {
        "is a '\(name)', which is no entity of the hierarchy"
    }

    package static func abstractEntity(_ name: String) -> String {
        "is a \(name), which is abstract, and no placeholder"
    }

    package static func unplaced(count: Int64) -> String { "has \(counted(count, "object")) without a place" }

    package static func sharedPlaces(count: Int64) -> String { "has \(counted(count, "object")) at a place of others" }

    package static func derived(_ stored: Value, _ expected: String, _ attribute: Attribute) -> String {
        "is \(attribute.type.text(of: stored)), the rows give \(expected)"
    }

    // MARK: The store's own tables

    /// Finds the problem of a transaction of the history.
    ///
    /// - Parameters:
    ///   - next: the number that its first change has to have.
    ///   - foundCount: how many of its changes are there.
    package static func ofTransaction(
        _ transaction: StoredTransaction, foundCount: Int64, next: Int64, purgedToken: Int64
    ) -> [String] {
        let count = transaction.changeCount
        var problems: [String] = []
        if transaction.token <= purgedToken {
            problems.append("is there although tokens up to \(purgedToken) were purged")
        }
        if transaction.firstChange != next {
            problems.append("begins with change \(transaction.firstChange), the one before it ends before \(next)")
        }
        if count < 1, transaction.author != HistoryTransaction.migrationAuthor { problems.append("has no changes") }
        if foundCount != count { problems.append("has \(foundCount) of its \(counted(count, "change"))") }
        return problems
    }

    package static func cursorAhead(_ token: Int64, end: Int64) -> String {
        "is at token \(token), the history ends at \(end)"
    }

    package static let behindTheEnd = "comes after the last transaction"

    package static let unknownChange = "has an unknown entity or kind of change"

    package static let wrongRange = "does not hold the objects that it counts"

    package static let presentTombstone = "is there and has a tombstone"

    package static func unknownTombstone(_ entity: String) -> String {
        "is of '\(entity)', which is no entity with a table"
    }

    package static func negative(_ number: Int64) -> String { "is \(number), below 0" }

    package static func usedKey(greatest: Int64, next: Int64) -> String {
        "the greatest key is \(greatest), the next to be used is \(next)"
    }
}

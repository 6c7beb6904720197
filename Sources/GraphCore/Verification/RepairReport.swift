/// The result of a repair, with the problems that are left.
public struct RepairReport: Sendable {
    /// The number of objects whose derived values were computed again.
    public package(set) var derivedObjectCount = 0
    /// The number of references to objects that are not there, cleared.
    public package(set) var danglingReferenceCount = 0
    /// The number of rows of join tables without an object at one end, removed.
    public package(set) var orphanedLinkCount = 0
    /// The number of history transactions with the repairs.
    public package(set) var transactionCount = 0
    /// The result of the verification afterwards.
    public package(set) var remaining = VerificationReport(checks: [])

    package init() {}

    /// The number of repaired objects, references and links.
    package var mendedCount: Int { derivedObjectCount + danglingReferenceCount + orphanedLinkCount }

    /// The report for people.
    public var text: String {
        var lines: [String] = []
        func line(_ count: Int, _ one: String, _ many: String) {
            if count > 0 { lines.append("repaired  \(count) \(count == 1 ? one : many)") }
        }
        line(derivedObjectCount, "object with a wrong derived value", "objects with wrong derived values")
        line(danglingReferenceCount, "dangling reference", "dangling references")
        line(orphanedLinkCount, "orphaned link", "orphaned links")
        if lines.isEmpty { lines.append("nothing to repair") }
        return lines.joined(separator: "\n") + "\n" + remaining.text
    }

    /// The report as one JSON object.
    public var json: String {
        JSONObject([
            "repaired": JSONObject([
                "derivedObjects": derivedObjectCount, "danglingReferences": danglingReferenceCount,
                "orphanedLinks": orphanedLinkCount,
            ]),
            "transactionCount": transactionCount, "remaining": remaining,
        ]).json
    }
}

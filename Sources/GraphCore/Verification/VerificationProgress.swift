/// How far a verification is.
package struct VerificationStep: Sendable, Equatable {
    /// The name of the check that is under way.
    package let check: String
    /// How many rows, links and values all checks have looked at.
    package let checkedCount: Int64
    /// The part of the time that has passed, from 0 to 1, as far as the checks' parts of it can be foreseen.
    package let share: Double

    package init(check: String, checkedCount: Int64, share: Double) {
        self.check = check
        self.checkedCount = checkedCount
        self.share = share
    }
}

/// Turns checks that begin and rows that they pass into steps with a share.
package final class VerificationProgress {
    /// The checks' parts of the time, as they were measured in a store of a million objects. A check that is not listed
    /// has one part.
    private static let parts: [String: Double] = [
        "integrity": 45, "foreignKeys": 9, "identities": 4, "values": 14, "required": 4, "limits": 8, "counts": 2,
        "references": 13, "derived": 3, "history": 2,
    ]

    private let tell: ((VerificationStep) -> Void)?
    private var total = 1.0
    private var name = ""
    private var finishedParts = 0.0
    private var finishedCount: Int64 = 0
    private var expectedRowCount: Int64 = 0
    private var passedRowCount: Int64 = 0

    /// - Parameter tell: takes each step; nil where nobody wants to know.
    package init(_ tell: ((VerificationStep) -> Void)? = nil) { self.tell = tell }

    /// Whether anybody takes the steps.
    package var isTold: Bool { tell != nil }

    private static func part(_ check: String) -> Double { parts[check] ?? 1 }

    /// Notes the names of all checks, before the first one begins.
    func begin(_ checks: [String]) { total = checks.reduce(0) { $0 + Self.part($1) } }

    /// Notes that a check begins.
    ///
    /// - Parameter rowCount: the rows that it will pass in slices; 0 where it has none, or they are not known.
    func begin(_ check: String, rowCount: Int64) {
        (name, expectedRowCount, passedRowCount) = (check, rowCount, 0)
        step(checkedCount: 0)
    }

    /// Notes that a slice of a check is done.
    ///
    /// - Parameters:
    ///   - rowCount: the rows of the slice.
    ///   - check: the check so far.
    package func pass(rowCount: Int, of check: VerificationReport.Check) {
        passedRowCount += Int64(rowCount)
        step(checkedCount: check.checkedCount)
    }

    /// Notes that a check is done.
    func end(_ check: VerificationReport.Check) {
        finishedParts += Self.part(check.name)
        finishedCount += check.checkedCount
    }

    private func step(checkedCount: Int64) {
        guard let tell else { return }
        let passed = expectedRowCount > 0 ? min(1, Double(passedRowCount) / Double(expectedRowCount)) : 0
        tell(
            VerificationStep(
                check: name, checkedCount: finishedCount + checkedCount,
                share: (finishedParts + passed * Self.part(name)) / total))
    }
}

/// The rows that a check would pass in slices.
package final class VerificationRehearsal {
    package var rowCount: Int64 = 0
}

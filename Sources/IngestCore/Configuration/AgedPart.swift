import GraphCore

/// The kinds of records that the worker removes by age; the raw values are stable.
package enum AgedPart: String, CaseIterable, Sendable {
    case history, tombstones, audit

    /// The number of such records in words.
    func number(_ count: Int) -> String {
        switch self {
        case .history: counted(count, "transaction")
        case .tombstones: counted(count, "tombstone")
        case .audit: counted(count, "audit entry")
        }
    }
}

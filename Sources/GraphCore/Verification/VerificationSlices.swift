/// Cuts a store into slices by ranges of keys, for a verification.
package struct VerificationSlices: Sendable {
    /// The rows of a slice.
    package var rowCount = 20_000
    /// Whether each slice has a snapshot of its own. Each problem is decided within one slice, so commits between two
    /// slices make no false one.
    package var renewsSnapshots = false

    /// The slices of a store that nobody writes, or of a snapshot that stands for the whole.
    package static let ofOneSnapshot = VerificationSlices()
    /// The slices of a store that a worker writes: no snapshot lasts so long that the worker's log grows.
    package static let ofManySnapshots = VerificationSlices(renewsSnapshots: true)

    package init(rowCount: Int = 20_000, renewsSnapshots: Bool = false) {
        self.rowCount = max(1, rowCount)
        self.renewsSnapshots = renewsSnapshots
    }
}

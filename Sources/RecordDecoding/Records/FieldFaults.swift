/// The faults of a record's fields, which one error names together.
struct FieldFaults {
    private var errors: [DecodeError] = []
    private static let shownLimit = 5

    /// Adds the fault of a field. A fault that may pass by itself ends the reading.
    mutating func add(_ error: DecodeError) throws(DecodeError) {
        if error.isRetriable { throw error }
        errors.append(error)
    }

    /// Ends with one error, which has the code of the first fault, if there is one.
    func check() throws(DecodeError) {
        guard let first = errors.first else { return }
        if errors.count == 1 { throw first }
        let shown = errors.prefix(Self.shownLimit).map(\.message).joined(separator: "; ")
        let more = errors.count - Self.shownLimit
        throw DecodeError(code: first.code, more > 0 ? "\(shown); and \(more) more" : shown)
    }
}

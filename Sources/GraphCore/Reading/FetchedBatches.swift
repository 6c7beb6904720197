extension ReadContext {
    /// Calls `body` with an iterator of a request's objects in batches of `size`.
    ///
    /// Memory holds the objects of one batch. Where no index serves the order, the storage also keeps the values of the
    /// sort keys, never the other properties. All batches are of this context's snapshot.
    ///
    /// For example:
    ///
    ///     try context.batches(FetchRequest("Message"), size: 500) { batches in
    ///         while let messages = try batches.next() { send(messages) }
    ///     }
    ///
    /// - Parameters:
    ///   - request: which objects, in which order.
    ///   - size: the objects in a batch, from 1 to 10,000.
    ///   - body: what reads the batches; the iterator does not outlive it.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``, and what `body` throws.
    public func batches<Result>(
        _ request: FetchRequest, size: Int, _ body: (FetchedBatches) throws -> Result
    ) throws -> Result {
        try batches(try request.checked(with: model), size: size, body)
    }

    /// Calls `body` with an iterator of a checked request's objects in batches of `size`.
    ///
    /// - Throws: as for the request itself.
    public func batches<Result>(
        _ request: CheckedFetchRequest, size: Int, _ body: (FetchedBatches) throws -> Result
    ) throws -> Result {
        guard (1...10_000).contains(size) else {
            throw FetchPredicateError(
                .range, "The batch size \(size) is outside of 1 to 10,000", at: nil,
                remedy: "Use a size from 1 to 10,000")
        }
        let batches = try session.batches(try ready(ofObjects(request)), size: size)
        // The call closes the iterator, even if somebody keeps it.
        defer { batches.close() }
        return try body(FetchedBatches(batches))
    }
}

/// The objects of a request in batches; valid while the call that made it runs.
public final class FetchedBatches {
    private let batches: any ObjectBatches

    init(_ batches: any ObjectBatches) { self.batches = batches }

    /// Returns the next batch, as many objects as its size but for the last; nil at the end.
    ///
    /// - Throws: ``StoreError``.
    public func next() throws -> [FetchedObject]? { try batches.next() }
}

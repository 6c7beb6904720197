import GraphCore

/// A wait after the store has refused.
struct StoreRest {
    /// When it ends, in seconds of the worker's clock.
    let end: Double
    let error: StoreError
}

/// The worker's waits: for a store that refuses, for a decoder that cannot decode for now, and how long they may last.
struct WorkerFailures {
    var backoff = Backoff()
    /// The wait before the store is tried again.
    var rest: StoreRest?
    /// The partitions that wait because a record cannot be decoded for now.
    var decodeWait = DecodeWait()
    var retryBudget: RetryBudget
}

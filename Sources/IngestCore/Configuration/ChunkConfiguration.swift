import RecordDecoding

/// Bounds a chunk: the first bound that is reached closes it, and commits it.
public struct ChunkConfiguration: Sendable, Equatable {
    /// The number of operations while the worker keeps up.
    public var maxOperations = 500
    /// The number of operations up to which chunks grow while records wait; no chunk grows unless it is more than
    /// `maxOperations`.
    public var maxBacklogOperations = 20_000
    /// The size of the records, in bytes.
    public var maxBytes = 8_388_608
    /// The time since the last chunk, in milliseconds.
    public var maxMilliseconds = 200
    /// The number of threads: with 1, one decodes and saves; with 2, one saves a chunk while the other decodes the next.
    public var threads = 1

    /// Creates the defaults.
    public init() {}
}

/// Bounds the growth of chunks when there is backlog: each full chunk doubles the next within these bounds.
public struct CommitConfiguration: Sendable, Equatable {
    /// The number of rows that a chunk writes.
    public var maxRows = 100_000
    /// The time from a chunk's first record to its commit, in milliseconds.
    public var maxMilliseconds = 3000

    /// Creates the defaults.
    public init() {}
}

extension ConfigurationSection {
    static let chunk = ConfigurationSection(
        "chunk", "The worker applies events in chunks. The first of these bounds closes a chunk.",
        keys: [
            .integer(
                "chunk.maxOperations", \.chunk.maxOperations, 1...1_000_000, reload: .taken,
                "A chunk closes at this number of operations while the worker keeps up."),
            .integer(
                "chunk.maxBacklogOperations", \.chunk.maxBacklogOperations, 1...1_000_000, reload: .taken,
                "Operations up to which chunks grow while records wait; 1 lets none grow. A chunk is one transaction of "
                    + "the history, so readers of a backlog see fewer and larger transactions."),
            .integer(
                "chunk.maxBytes", \.chunk.maxBytes, 1...mostInteger, reload: .taken,
                "A chunk closes at this size of its records with keys and headers, in bytes."),
            .integer(
                "chunk.maxMilliseconds", \.chunk.maxMilliseconds, 1...600_000, reload: .taken,
                "Milliseconds since the last chunk. A record after a longer pause is committed at once. With backlog a "
                    + "chunk may be open for half of commit.maxMilliseconds where that is longer."),
            .integer(
                "chunk.threads", \.chunk.threads, 1...2, reload: .taken,
                "With 1, one thread decodes and saves. With 2, one saves a chunk while another decodes the next one of "
                    + "a backlog."),
        ])

    static let commit = ConfigurationSection(
        "commit",
        "Each chunk is one database commit. With backlog, a full chunk doubles the next one while its commit keeps "
            + "within these bounds; a commit beyond them halves the next chunk.",
        keys: [
            .integer(
                "commit.maxRows", \.commit.maxRows, 1...mostInteger, reload: .taken, "The rows that a commit writes."),
            .integer(
                "commit.maxMilliseconds", \.commit.maxMilliseconds, 0...600_000, reload: .taken,
                "Milliseconds from the chunk's first record to its commit. More than 1000 count only up to a third of "
                    + "lease.ttlSeconds and up to shutdown.drainSeconds, and not where many write the store."),
        ])
}

extension WorkerConfiguration {
    /// The bounds of a commit. A long one saves work where nobody waits for it.
    ///
    /// Other writers of the store wait for it, and so do a worker that takes over, and the end of the process.
    package var commitBounds: CommitConfiguration {
        var bounds = commit
        let most = store.writers == .many ? 0 : min(lease.ttlSeconds * 1000 / 3, shutdown.drainSeconds * 1000)
        bounds.maxMilliseconds = min(commit.maxMilliseconds, max(1000, most))
        return bounds
    }
}

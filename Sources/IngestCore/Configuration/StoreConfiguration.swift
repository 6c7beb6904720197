/// Says where the store is and what it may use.
public struct StoreConfiguration: Sendable, Equatable {
    /// The placeholder for a partition's number in a path or URL, or for `kafka.partitions` where there are some.
    public static let partitionMark = "{partition}"

    /// The SQLite file, relative to the working directory.
    public var path = "data/ingest.sqlite"
    /// The URL of a PostgreSQL database that holds the store instead of a file, or nil.
    public var url: String?
    /// How many workers write a store in PostgreSQL at the same time.
    public var writers = Writers.one
    /// The page cache of the writing connection, in megabytes.
    public var cacheMegabytes = 16
    /// How long to wait for a lock that another process holds, in milliseconds.
    public var busyTimeoutMilliseconds = 5_000
    /// The partition whose store this is, where each has one; set by ``WorkerConfiguration/ofPartition(_:)``.
    package internal(set) var partition: Int32?
    /// The treatment of a partition that its group has read, while its own store is missing.
    public var missing = Missing.refuse

    /// What to do about the missing store of a partition that the group has read.
    public enum Missing: String, Sendable, CaseIterable {
        /// The partition waits, and the others go on.
        case refuse
        /// The worker makes the store, and reads the partition from its beginning.
        case rebuild
    }

    /// How many workers write a store.
    public enum Writers: String, Sendable, CaseIterable {
        /// One worker owns the store.
        case one
        /// The workers of a consumer group share the store.
        case many
    }

    /// Creates the defaults.
    public init() {}
}

extension ConfigurationSection {
    static let store = ConfigurationSection(
        "store",
        keys: [
            .text(
                "store.path", \.store.path,
                "The SQLite file; its folder is made when it is missing. With {partition} in it each partition has a "
                    + "store of its own. Where there are kafka.partitions, it stands for them: 0-3_7, 1of4."),
            .secret(
                "store.url", \.store.url, fault: WorkerConfiguration.faultOfStoreURL,
                remedy: "Write it as postgres://USER@HOST:5432/DATABASE?schema=NAME.",
                "The PostgreSQL database that holds the store instead, as "
                    + "postgres://USER@HOST:5432/DATABASE?schema=NAME. null keeps it in the file. file:PATH reads the "
                    + "URL from a file. From a flag or a variable it goes before the path. {partition} in it is as in "
                    + "store.path."),
            .choice(
                "store.writers", \.store.writers,
                "one: a worker owns the store, which refuses a second one. many: the workers of a consumer group share "
                    + "a store in PostgreSQL. Each of them has the same setting, and each event still has its effect "
                    + "once."),
            .integer(
                "store.cacheMegabytes", \.store.cacheMegabytes, 1...65_536,
                "The page cache of the writing connection, in megabytes."),
            .integer(
                "store.busyTimeoutMilliseconds", \.store.busyTimeoutMilliseconds, 0...3_600_000,
                "How long to wait for a lock that another process holds, in milliseconds."),
            .choice(
                "store.missing", \.store.missing,
                "Whether the missing store of a partition that the group has read holds the partition up (refuse), or "
                    + "is made from its beginning (rebuild)."),
        ])
}

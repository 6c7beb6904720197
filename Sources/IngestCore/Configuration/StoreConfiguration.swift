/// Says where the store is and what it may use.
public struct StoreConfiguration: Sendable, Equatable {
    /// The placeholder for `kafka.partitions` in a path that is read from a source.
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
                "The SQLite file; its folder is made when it is missing. {partition} in it stands for kafka.partitions: "
                    + "0-3_7, 1of4."),
            .secret(
                "store.url", \.store.url, fault: WorkerConfiguration.faultOfStoreURL,
                remedy: "Write it as postgres://USER@HOST:5432/DATABASE?schema=NAME.",
                "The PostgreSQL database that holds the store instead, as "
                    + "postgres://USER@HOST:5432/DATABASE?schema=NAME. null keeps it in the file. file:PATH reads the "
                    + "URL from a file. From a flag or a variable it goes before the path."),
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
        ])
}

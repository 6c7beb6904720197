import Logging

/// Says where backups go.
public struct BackupConfiguration: Sendable, Equatable {
    /// The folder of the backups that are taken on request, or nil where none are.
    public var folder: String?

    /// Creates the defaults.
    public init() {}
}

/// Says which events are logged, and how.
public struct LogConfiguration: Sendable, Equatable {
    /// The lowest level that is written.
    public var level = Logger.Level.info
    /// The form of a line.
    public var format = LogFormat.text
    /// The time between two summaries of the worker, in seconds; 0 writes none.
    public var summarySeconds = 60

    /// Creates the defaults.
    public init() {}
}

/// Names the form of a log line.
public enum LogFormat: String, Sendable, CaseIterable {
    /// `2026-01-02T03:04:05.678Z info  message key=value`.
    case text
    /// One JSON object.
    case json
}

/// Decides whether a bad record stops the worker, and how long the worker tries failed work again.
public struct ErrorConfiguration: Sendable, Equatable {
    /// How bad records are met.
    public enum Tolerance: String, Sendable, CaseIterable {
        /// A bad record becomes a dead letter, and the worker goes on.
        case all
        /// A bad record stops the worker.
        case none
    }

    /// How bad records are met.
    public var tolerance = Tolerance.all
    /// How long the store, the broker or a delivery may fail before the worker ends, in seconds; 0 sets no limit.
    public var retryTimeoutSeconds = 0

    /// Creates the defaults.
    public init() {}
}

/// Bounds the end of the process.
public struct ShutdownConfiguration: Sendable, Equatable {
    /// The time to finish open chunks and notifications, in seconds.
    public var drainSeconds = 10

    /// Creates the defaults.
    public init() {}
}

/// Says how long a writer owns the store without renewing its lease.
public struct LeaseConfiguration: Sendable, Equatable {
    /// The time to live, in seconds.
    public var ttlSeconds = 10

    /// Creates the defaults.
    public init() {}
}

extension ConfigurationSection {
    static let errors = ConfigurationSection(
        "errors",
        keys: [
            .choice(
                "errors.tolerance", \.errors.tolerance,
                "all: a bad record becomes a dead letter, and the worker goes on. none: the first one stops it, with "
                    + "exit code 65."),
            .integer(
                "errors.retryTimeoutSeconds", \.errors.retryTimeoutSeconds, 0...31_536_000,
                "How long the store, the broker or a delivery may fail before the worker ends with exit code 75; 0 "
                    + "tries without end."),
        ])

    static let backup = ConfigurationSection(
        "backup",
        keys: [
            .optionalText(
                "backup.folder", \.backup.folder,
                "The folder of the backups that 'ingest-worker backup' without a file, the console or POST "
                    + "/admin/backup takes. null takes none.")
        ])

    static let log = ConfigurationSection(
        "log",
        keys: [
            .choice("log.level", \.log.level, reload: .taken, "The lowest level that is logged."),
            .choice("log.format", \.log.format, "The form of a line: text, or json, which is an object a line."),
            .integer(
                "log.summarySeconds", \.log.summarySeconds, 0...86_400,
                "How often the log of 'ingest-worker run' has a summary of records, dead letters, lag and state, in "
                    + "seconds. 0 writes none."),
        ])

    static let shutdown = ConfigurationSection(
        "shutdown",
        keys: [
            .integer(
                "shutdown.drainSeconds", \.shutdown.drainSeconds, 0...3_600,
                "The time to finish open chunks and notifications at the end, in seconds.")
        ])

    static let lease = ConfigurationSection(
        "lease",
        keys: [
            .integer(
                "lease.ttlSeconds", \.lease.ttlSeconds, 1...3_600,
                "How long a writer owns the store without renewing its lease, in seconds. Until then the store refuses "
                    + "another worker. If the holder was a process of this machine and has ended, the next worker "
                    + "begins at once.")
        ])
}

/// Says how long the history is kept.
public struct HistoryConfiguration: Sendable, Equatable {
    /// The age at which history may be purged, in days.
    public var keepDays = 7
    /// The time between two purges, in minutes.
    public var purgeEveryMinutes = 60
    /// Whether the history has an index by object.
    public var indexObjects = false

    /// Creates the defaults.
    public init() {}
}

/// Says how long deleted identities are remembered.
public struct TombstoneConfiguration: Sendable, Equatable {
    /// The age at which a tombstone is purged, in days; 0 keeps tombstones permanently.
    public var keepDays = 0

    /// Creates the defaults.
    public init() {}
}

/// Says how long the audit's entries are kept.
public struct AuditConfiguration: Sendable, Equatable {
    /// The age at which an entry is purged, in days; 0 keeps entries permanently.
    public var keepDays = 365

    /// Creates the defaults.
    public init() {}
}

extension ConfigurationSection {
    static let history = ConfigurationSection(
        "history",
        keys: [
            .integer(
                "history.keepDays", \.history.keepDays, 0...36_500, reload: .taken,
                "History that every reader has seen is purged at this age, in days."),
            .integer(
                "history.purgeEveryMinutes", \.history.purgeEveryMinutes, 1...525_600,
                "The time between two purges, in minutes."),
            .boolean(
                "history.indexObjects", \.history.indexObjects,
                "Whether the history has an index by object: finding one object's changes is then fast, and writing "
                    + "takes about a quarter more time."),
        ])

    static let tombstones = ConfigurationSection(
        "tombstones",
        keys: [
            .integer(
                "tombstones.keepDays", \.tombstones.keepDays, 0...36_500, reload: .taken,
                "Tombstones keep late events about deleted objects without effect. They are purged at this age, in "
                    + "days; keep them for longer than an event can be late. 0 keeps them permanently.")
        ])

    static let audit = ConfigurationSection(
        "audit",
        keys: [
            .integer(
                "audit.keepDays", \.audit.keepDays, 0...36_500, reload: .taken,
                "Entries of the audit, with their idempotency keys, are purged at this age, in days. 0 keeps them "
                    + "permanently.")
        ])
}

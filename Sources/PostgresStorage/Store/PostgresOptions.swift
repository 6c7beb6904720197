/// How a store in PostgreSQL is opened.
public struct PostgresOptions: Sendable {
    /// For how long a statement waits for rows that another connection holds.
    public var lockTimeoutMilliseconds = 5000
    /// How many connections read at the same time.
    public var maximumReaderCount = 6
    /// Whether this writer owns the store, or shares it with others.
    public var writers = Writers.one
    /// The consumer group of the writers that share the store; nil where it does not matter.
    package var group: String?
    /// The identity of the store that a new one is to replace, noted when it is made.
    package var replaces: String?
    /// The fingerprint of the settings with which a new store is built to replace another.
    package var builtWith: String?
    /// Faults that tests plant.
    package var faults: SharingFaults = []

    /// How many write a store at the same time.
    public enum Writers: String, Sendable, CaseIterable {
        /// One writer owns the store; a second one is refused.
        case one
        /// Several writers share the store; each commit is as if it were alone.
        case many
    }

    /// Makes options with their defaults.
    public init() {}
}

/// Faults in the protocol of several writers. Tests plant them, and have to find them.
package struct SharingFaults: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// A position is saved though another writer has claimed its partition.
    package static let ignoresFences = SharingFaults(rawValue: 1)
    /// A draft is compared and written without the lock.
    package static let takesNoLock = SharingFaults(rawValue: 2)
    /// Rows, links and places that a draft has read are not compared.
    package static let trustsRows = SharingFaults(rawValue: 4)
    /// Tombstones that a draft has read are not compared.
    package static let trustsTombstones = SharingFaults(rawValue: 8)
    /// A difference is added to a sum twice.
    package static let addsTwice = SharingFaults(rawValue: 16)
    /// A token is left out.
    package static let skipsTokens = SharingFaults(rawValue: 32)

    /// A position is saved though another writer has moved it.
    package static let ignoresPositions = SharingFaults(rawValue: 64)
    /// A draft is committed though somebody has taken the store over.
    package static let ignoresEpochs = SharingFaults(rawValue: 128)
    /// The keys that a lost connection has reserved are used.
    package static let keepsKeys = SharingFaults(rawValue: 256)
    /// A draft is committed on another server than the one that it was read on.
    package static let ignoresServers = SharingFaults(rawValue: 512)
}

import Foundation

/// The right to write a store, kept in the store: one row with an epoch that grows with every holder.
///
/// A writer checks the epoch in each of its transactions, so one that was stopped and resumed finds itself fenced
/// however long it slept. On one machine a dead holder is recognised by its process; otherwise the lease expires.
struct Lease {
    let epoch: Int64
    let holder: LeaseHolder
    /// For how long a holder on another machine is waited for.
    let ttlSeconds: Double

    /// Takes the lease inside the caller's transaction.
    ///
    /// - Throws: ``StoreError`` with code `store.leased` where another live worker holds it.
    static func take(
        _ store: SQLiteWriterSession, holder: LeaseHolder, ttlSeconds: Double, now: Int64
    ) throws(StoreError) -> Lease {
        let statement = try store.statement("SELECT epoch, holder, expires FROM _lease WHERE id = 1")
        var epoch: Int64 = 0
        var current: (holder: String, expires: Int64)?
        if try statement.step() {
            epoch = statement.integer(0)
            current = (statement.text(1), statement.integer(2))
        }
        statement.reset()
        if let current, let other = LeaseHolder(text: current.holder), other.isAlive(expires: current.expires, now: now)
        {
            throw other.isSameProcess(as: holder)
                ? StoreError(
                    .leased, "This process has a writer of the store already",
                    remedy: "Share that one, or close it first")
                : StoreError(
                    .leased, "Another worker writes this store: process \(other.process) on \(other.host)",
                    remedy: "Stop it, or give this worker another store.path")
        }
        let lease = Lease(epoch: epoch + 1, holder: holder, ttlSeconds: ttlSeconds)
        try lease.renew(store, now: now)
        return lease
    }

    /// Takes or prolongs the lease inside a write transaction.
    func renew(_ store: SQLiteWriterSession, now: Int64) throws(StoreError) {
        try store.run(
            """
            INSERT INTO _lease (id, epoch, holder, expires) VALUES (1, ?, ?, ?) \
            ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder, expires = excluded.expires
            """, epoch, holder.text, now + Int64(ttlSeconds * 1_000_000))
    }

    /// Checks inside a write transaction that the lease is still held.
    ///
    /// - Throws: ``StoreError`` with code `store.fenced` where another worker took it.
    func check(_ store: SQLiteWriterSession) throws(StoreError) {
        let current = try store.integer("SELECT epoch FROM _lease WHERE id = 1")
        if current != epoch {
            throw StoreError(
                .fenced, "Another worker has taken this store over", remedy: "Nothing was written; stop this worker")
        }
    }

    /// Gives the lease up, so that the next worker need not wait.
    func release(_ store: SQLiteWriterSession) throws(StoreError) {
        try store.run("UPDATE _lease SET expires = 0 WHERE id = 1 AND epoch = ?", epoch)
    }
}

/// The holder of a lease: a process. Its start time tells it from a later process with the same number.
struct LeaseHolder: Sendable, Equatable {
    let host: String
    let process: Int32
    let startTime: String
    /// Tells writers of one process apart.
    let instance: String

    /// This process.
    static func current(instance: String = UUID().uuidString) -> LeaseHolder {
        let process = ProcessInfo.processInfo.processIdentifier
        return LeaseHolder(
            host: hostName(), process: process, startTime: startTime(of: process) ?? "", instance: instance)
    }

    private static let migrationPrefix = "migrating-since-"

    /// This process as one that migrates, with the epoch since which nobody but migrations has held the lease.
    static func migrating(since epoch: Int64) -> LeaseHolder { current(instance: "\(migrationPrefix)\(epoch)") }

    /// The epoch since which only migrations have held the lease, or nil where the holder is no migration.
    var migratingSince: Int64? {
        instance.hasPrefix(Self.migrationPrefix) ? Int64(instance.dropFirst(Self.migrationPrefix.count)) : nil
    }

    init(host: String, process: Int32, startTime: String, instance: String) {
        self.host = host
        self.process = process
        self.startTime = startTime
        self.instance = instance
    }

    init?(text: String) {
        let parts = text.split(separator: "|", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 4, let process = Int32(parts[1]) else { return nil }
        self.init(host: parts[0], process: process, startTime: parts[2], instance: parts[3])
    }

    func isSameProcess(as other: LeaseHolder) -> Bool {
        (host, process, startTime) == (other.host, other.process, other.startTime)
    }

    var text: String { "\(host)|\(process)|\(startTime)|\(instance)" }

    private static let longestMicroseconds: Int64 = 3_600_000_000

    /// Tells whether the holder has to be taken for alive.
    ///
    /// A process of this host that is gone is dead at once. For any other process only the lease decides. It also
    /// decides about a living process that does not renew it, because that one may be stopped or stuck.
    func isAlive(expires: Int64, now: Int64) -> Bool {
        // A lease from beyond any allowed time to live was written by a clock that has since been set back.
        if expires <= now || expires > now + Self.longestMicroseconds { return false }
        guard host == Self.hostName() else { return true }
        return Self.startTime(of: process) == startTime
    }

    /// The host's name with the number of its boot: process numbers mean nothing beyond either.
    private static func hostName() -> String {
        let boot = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        let namespace = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")) ?? ""
        return "\(ProcessInfo.processInfo.hostName)/\(boot.prefix(8))/\(namespace)"
    }

    /// Returns the start time of a process, in ticks since the boot, or nil where there is no such process.
    private static func startTime(of process: Int32) -> String? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        // Fields after the name, which may itself hold spaces: the state is number 3, the start time number 22.
        let fields = text[end...].split(separator: " ")
        guard fields.count > 20, fields[1] != "Z" else { return nil }
        return String(fields[20])
    }
}

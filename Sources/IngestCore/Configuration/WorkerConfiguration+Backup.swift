import Foundation
import GraphCore
import PostgresStorage
import SQLiteStorage

/// The contents of a backup.
package struct BackupSummary: Sendable, Equatable {
    /// The backup's file.
    package let path: String
    /// The bytes of the file.
    package let byteCount: Int
    /// The number of the last transaction in it; 0 where there is none.
    package let lastTransaction: Int64
    /// How far the sources of the store's records were read.
    package let positions: [SourcePosition]
    /// Whether the backup was verified; an unsound file is no backup.
    package let isVerified: Bool

    /// One sentence for people.
    package var text: String {
        let checked = isVerified ? "verified" : "not verified"
        return
            "The backup is at \(path): \(counted(byteCount, "byte")), up to transaction \(lastTransaction), \(checked)"
    }

    /// An object with `path`, `bytes`, `lastTransaction`, `verified` and `positions`.
    package var json: String {
        JSONObject([
            "path": path, "bytes": byteCount, "lastTransaction": lastTransaction, "verified": isVerified,
            "positions": positions.map(\.json),
        ]).json
    }
}

extension SourcePosition {
    /// An object with `topic`, `partition` and `nextOffset`.
    var json: JSONObject { JSONObject(["topic": topic, "partition": partition, "nextOffset": nextOffset]) }
}

/// A step of a backup or a verification.
package enum StoreStep: Sendable, Equatable {
    /// A file is written that will have about as many bytes.
    case writing(path: String, byteCount: Int)
    /// A row of a table in PostgreSQL was copied, after as many others.
    case copying(table: String, rowCount: Int)
    /// The verification is at a check, and has looked at so many rows, links and values; the share is from 0 to 1.
    case verifying(check: String, checkedCount: Int, share: Double?)

    package init(_ step: VerificationStep) {
        self = .verifying(check: step.check, checkedCount: Int(step.checkedCount), share: step.share)
    }
}

extension WorkerConfiguration {
    /// Writes the configured store as of one commit into a new file, while workers go on.
    ///
    /// The file is a store of SQLite, in whatever storage the original is. It has the positions that belong to its
    /// objects, and nobody's lease.
    ///
    /// - Parameters:
    ///   - path: the new file, which only its owner reads.
    ///   - verifies: whether the backup is verified before it gets its name.
    ///   - progress: takes each step.
    /// - Throws: `StoreError`: `store.corrupt` where the verification finds damage; then no file is left.
    package func backUpStore(
        to path: String, model: ObjectModel, verifies: Bool, progress: @escaping (StoreStep) -> Void = { _ in }
    ) throws -> BackupSummary {
        try StoreBackup(path: path).make(
            copy: { copy in
                guard case .file(let source) = storeKind else {
                    let store = try openStoreForReading(model: model)
                    defer { try? store.close() }
                    return try store.read { context in
                        try Store.copyToFile(context, path: copy) { progress(.copying(table: $0, rowCount: $1)) }
                    }
                }
                progress(.writing(path: copy, byteCount: Self.size(of: source)))
                try StoreBackup.copyFile(source, to: copy)
            },
            check: { copy in
                let store = try Store.openForReading(path: copy, model: model, options: storeOptions)
                defer { try? store.close() }
                guard verifies else { return }
                let report = try store.verify(.ofOneSnapshot) { progress(StoreStep($0)) }
                let remedy = "Repair it by 'verify --repair'. To keep it as it is, pass --no-verify"
                if let error = report.error(remedy: remedy) { throw error }
            })
        return try summary(ofBackup: path, model: model, isVerified: verifies)
    }

    /// Reads the summary of a backup that is there.
    ///
    /// - Throws: `StoreError`.
    func summary(ofBackup path: String, model: ObjectModel, isVerified: Bool) throws -> BackupSummary {
        let store = try Store.openForReading(path: path, model: model, options: storeOptions)
        defer { try? store.close() }
        let (lastTransaction, positions) = try store.read { (try $0.lastToken(), try $0.positions()) }
        return BackupSummary(
            path: path, byteCount: Self.size(of: path), lastTransaction: lastTransaction, positions: positions,
            isVerified: isVerified)
    }

    static func size(of path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }
}

extension VerificationReport {
    /// Returns the damage as an error, or nil of a store without any.
    package func error(remedy: String) -> StoreError? {
        if !isDamaged { return nil }
        let first = damage.first.map { ", the first: \($0)" } ?? ""
        return StoreError(.corrupt, "The store has \(damageNumber)\(first)", remedy: remedy)
    }
}

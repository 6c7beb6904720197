import Foundation
import ObjectGraph
import PostgresStorage

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
    /// Whether the backup was verified; an unsound one is none.
    package let isVerified: Bool

    /// One sentence for people.
    package var text: String {
        let checked = isVerified ? "verified" : "not verified"
        return "The backup is at \(path): \(byteCount) bytes, up to transaction \(lastTransaction), \(checked)"
    }

    /// Appends an object with `path`, `bytes`, `lastTransaction`, `verified` and `positions`.
    package func appendJSON(to json: inout String) {
        let positions = positions.map { position in
            "{\"topic\":\(JSONText.string(position.topic)),\"partition\":\(position.partition),"
                + "\"nextOffset\":\(position.nextOffset)}"
        }
        json += "{\"path\":\(JSONText.string(path)),\"bytes\":\(byteCount),\"lastTransaction\":\(lastTransaction),"
        json += "\"verified\":\(isVerified),\"positions\":[\(positions.joined(separator: ","))]}"
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
    /// - Throws: `StoreError`: `store.corrupt` where the verification finds a problem; then no file is left.
    package func backUpStore(to path: String, model: ObjectModel, verifies: Bool) throws -> BackupSummary {
        try StoreBackup(path: path).make(
            copy: { copy in
                guard case .file(let source) = storeKind else {
                    let store = try openStoreForReading(model: model)
                    defer { try? store.close() }
                    return try store.read { try Store.copyToFile($0, path: copy) }
                }
                try StoreBackup.copyFile(source, to: copy)
            },
            check: { copy in
                let store = try Store.openForReading(path: copy, model: model, options: storeOptions)
                defer { try? store.close() }
                guard verifies else { return }
                let report = try store.verify()
                if !report.isSound { throw Self.unsoundBackup(report) }
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
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        return BackupSummary(
            path: path, byteCount: size ?? 0, lastTransaction: lastTransaction, positions: positions,
            isVerified: isVerified)
    }

    private static func unsoundBackup(_ report: VerificationReport) -> StoreError {
        let first = report.checks.lazy.flatMap(\.problems).first.map { ", the first: \($0)" } ?? ""
        return StoreError(
            .corrupt, "The store has \(report.problemCount) problems\(first)",
            remedy: "Repair it by 'verify --repair'. To keep it as it is, pass --no-verify")
    }
}

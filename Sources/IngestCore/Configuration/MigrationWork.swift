import Foundation
import GraphCore
import SQLiteStorage

/// The folder in which a store in PostgreSQL is migrated. It stays where the process is killed, and the next run of the
/// same migration goes on there.
struct MigrationWork {
    private let folder: URL
    /// The name of what the folder holds, which no other folder has.
    let name: String
    private let isNew: Bool

    private static let (noteName, lossesName) = ("migration", "losses")

    /// - Parameters:
    ///   - parent: the folder for such folders; nil is the system's own.
    ///   - store: the identity of the store; nil makes a folder that nobody goes on with.
    ///   - contents: the state of the store and the stages. Where an earlier run had others, its files are removed.
    /// - Throws: `StoreError` with code `store.unavailable` where the folder cannot be made.
    init(parent: String?, store: String?, of contents: [String]) throws(StoreError) {
        let parent = parent.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        folder = parent.appendingPathComponent("ingest-migration-\(store ?? UUID().uuidString)")
        let key = String(FetchCursor.fingerprint(contents), radix: 16)
        let note = folder.appendingPathComponent(Self.noteName)
        if Self.isOwn(folder), let text = try? String(contentsOf: note, encoding: .utf8) {
            let parts = text.split(separator: " ")
            if parts.count == 2, parts[0] == key {
                (name, isNew) = (String(parts[1]), false)
                return
            }
        }
        (name, isNew) = (UUID().uuidString.lowercased(), true)
        do {
            if Self.isOwn(folder) { try FileManager.default.removeItem(at: folder) }
            guard mkdir(folder.path, 0o700) == 0 else { throw CocoaError(.fileWriteUnknown) }
            try DurableFile.write("\(key) \(name)", to: note.path)
        } catch {
            throw StoreError(
                .unavailable, "Could not make the folder \(folder.path)",
                remedy: "Name a folder that exists and may be written with --folder")
        }
    }

    /// Whether the folder is one of this user, whom alone it lets in: others may write the system's folder.
    private static func isOwn(_ folder: URL) -> Bool {
        guard let found = try? FileManager.default.attributesOfItem(atPath: folder.path) else { return false }
        return found[.type] as? FileAttributeType == .typeDirectory
            && (found[.ownerAccountID] as? NSNumber)?.uint32Value == geteuid()
            && (found[.posixPermissions] as? NSNumber)?.intValue == 0o700
    }

    /// The file of the store.
    var path: String { folder.appendingPathComponent("store.sqlite").path }

    /// Whether an earlier run has copied the store.
    var hasCopy: Bool { !isNew && FileManager.default.fileExists(atPath: path) }

    /// Returns the plan of the whole migration: an earlier run may have migrated the file.
    func whole(_ plan: MigrationPlan, old: ReadContext, target: ObjectModel?) throws -> MigrationPlan {
        guard plan.method == .none, !isNew, let target else { return plan }
        let model = old.model
        let difference = ModelDifference(from: model, to: target)
        if !difference.needsMigration { return plan }
        let rowCount = try model.rootEntities.reduce(0) { try $0 + old.session.count($1).objects }
        return MigrationPlan(
            source: "\(model.name) \(model.version)", target: plan.target, difference: difference, method: .copy,
            steps: [], rowCount: Int64(rowCount), problems: [], notes: ["An earlier run has migrated the rows"],
            losses: notedLosses)
    }

    // MARK: Losses

    private var lossesNote: URL { folder.appendingPathComponent(Self.lossesName) }

    private var notedLosses: MigrationLosses {
        MigrationLosses(note: (try? String(contentsOf: lossesNote, encoding: .utf8)) ?? "")
    }

    /// Notes losses that a stage is about to have, for a run that goes on after it.
    func note(_ losses: MigrationLosses) throws {
        var noted = notedLosses
        noted.add(losses, by: max)
        try DurableFile.write(noted.note, to: lossesNote.path)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

extension MigrationStage {
    /// The model and the mapping of the stage.
    var signature: String { "\(target.yaml)\n\(mapping?.signature ?? "")" }
}

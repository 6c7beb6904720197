import Foundation
import GraphCore
import PostgresStorage
import SQLiteStorage

/// The places of a rebuild: the old store's, the new store's beside it, and the old store's afterwards.
package protocol RebuildPlaces: Sendable {
    /// The old store, as messages name it.
    var old: String { get }
    /// The new store, as messages name it.
    var new: String { get }
    /// The old store after the exchange, as messages name it.
    var kept: String { get }
    /// The instruction that makes room for a new store where the old one cannot be read.
    var movingOldAway: String { get }
    /// The instruction that removes the unfinished new store.
    var removingNew: String { get }

    /// Keeps other rebuilds of the store out until the result is called, and completes an exchange that was interrupted.
    func lock() throws(StoreError) -> () -> Void
    /// Describes the old store; nil where there is none.
    func describeOld() throws(StoreError) -> StoreDescription?
    /// Describes the new store; nil where none was begun.
    func describeNew() throws(StoreError) -> StoreDescription?
    /// Tells whether the store that an earlier rebuild replaced is there.
    func hasKept() throws(StoreError) -> Bool
    /// Configures the worker that builds the new store.
    func chooseNew(in store: inout StoreConfiguration)
    /// Opens the old store to take it from its writer.
    func retire(_ model: ObjectModel) throws(StoreError) -> any RetiringPlace
}

/// An old store that another is about to replace.
package protocol RetiringPlace: AnyObject {
    /// Views that read the old store after the exchange.
    var viewsOfOldStore: [String] { get }

    /// Takes the old store, so that nobody writes to it.
    ///
    /// - Parameter judge: looks at the old store while nobody writes it, and returns the reason not to take it yet.
    /// - Returns: the reason why it is not taken yet, or nil.
    func take(unless judge: (StoreDescription) throws -> String?) throws -> String?
    /// Gives the old store back, where it is not replaced after all.
    func giveBack()
    /// Puts the new store, which is closed, in the old one's place.
    func exchange(atStep: (String) -> Void) throws
}

extension RebuildPlaces {
    /// Says that another store has come to stand where the old one was.
    var isExchanged: RebuildError {
        RebuildError(
            code: .foreign,
            message: "The store at \(old) is another than the one that \(new) was begun to replace: it was exchanged "
                + "meanwhile",
            remedy: "If the store that stands there is right: \(removingNew)")
    }
}

extension WorkerConfiguration {
    /// - Throws: `StoreError` with code `store.unavailable` where the store's URL cannot be read.
    package func rebuildPlaces() throws(StoreError) -> any RebuildPlaces {
        switch storeKind {
        case .file(let path): FileRebuildPlaces(swap: StoreSwap(path: path))
        case .postgres(let url): SchemaRebuildPlaces(rebuild: try PostgresRebuild(url: url, options: postgresOptions))
        }
    }
}

// MARK: - Files

/// A file of SQLite, and the new one beside it.
private struct FileRebuildPlaces: RebuildPlaces {
    let swap: StoreSwap

    var old: String { swap.path }
    var new: String { swap.rebuilt }
    var kept: String { swap.kept }
    var movingOldAway: String { "Move \(swap.path) away, with \(StoreSwap.sideFiles)" }
    var removingNew: String { "Remove \(swap.rebuilt), and \(StoreSwap.sideFiles)" }

    func lock() throws(StoreError) -> () -> Void {
        let lock = try swap.takeLock()
        return { lock.release() }
    }

    func describeOld() throws(StoreError) -> StoreDescription? { try StoreDescription.read(path: swap.path) }

    func describeNew() throws(StoreError) -> StoreDescription? { try StoreDescription.read(path: swap.rebuilt) }

    func hasKept() -> Bool { FileManager.default.fileExists(atPath: swap.kept) }

    func chooseNew(in store: inout StoreConfiguration) { store.path = swap.rebuilt }

    func retire(_ model: ObjectModel) -> any RetiringPlace { RetiringFile(self, model) }
}

/// An old store in a file. Its worker has to end before it is taken.
private final class RetiringFile: RetiringPlace {
    let viewsOfOldStore: [String] = []
    private let places: FileRebuildPlaces
    private let model: ObjectModel
    private var store: RetiringStore?

    init(_ places: FileRebuildPlaces, _ model: ObjectModel) {
        self.places = places
        self.model = model
    }

    func take(unless judge: (StoreDescription) throws -> String?) throws -> String? {
        let store = try self.store ?? RetiringStore(path: places.old, model: model)
        self.store = store
        let found: StoreDescription
        do throws(StoreError) { found = try store.takeLease() } catch {
            guard error.code == .leased || error.code == .busy else { throw error }
            return "caught up, and waiting for the old store: \(error.message). Stop that worker"
        }
        // A copy may have been restored to the path, and a worker may write it.
        guard store.isInPlace else {
            giveBack()
            return "caught up, and looking again at the old store, whose file was exchanged"
        }
        var reason = try judge(found)
        if reason == nil, try !store.carryLogOver() {
            reason = "caught up, and waiting for a reader of the old store, whose open transaction keeps its log"
        }
        if reason != nil { store.releaseLease() }
        return reason
    }

    func giveBack() {
        store?.releaseLease()
        try? store?.close()
        store = nil
    }

    func exchange(atStep: (String) -> Void) throws {
        try emptyNewLog()
        guard let store, store.isInPlace else { throw places.isExchanged }
        // This process may have stood still for longer than the lease holds.
        try store.renewLease()
        try store.emptyLog()
        try store.close()
        try places.swap.perform { atStep($0.rawValue) }
    }

    /// A reader of the unfinished store would keep its log, which does not change its name with it.
    private func emptyNewLog() throws {
        let new = try RetiringStore(path: places.new, model: model)
        defer { try? new.close() }
        try new.emptyLog()
    }
}

// MARK: - PostgreSQL

/// A schema of a PostgreSQL database, and the new one beside it.
private struct SchemaRebuildPlaces: RebuildPlaces {
    let rebuild: PostgresRebuild

    var old: String { rebuild.old }
    var new: String { rebuild.new }
    var kept: String { rebuild.kept }
    var movingOldAway: String { "Give the schema of \(rebuild.old) another name" }
    var removingNew: String { "Drop \(rebuild.new)" }

    /// The lease of the new store keeps other rebuilds out, and the exchange is one transaction.
    func lock() -> () -> Void { {} }

    func describeOld() throws(StoreError) -> StoreDescription? { try rebuild.describeOld() }

    func describeNew() throws(StoreError) -> StoreDescription? { try rebuild.describeNew() }

    func hasKept() throws(StoreError) -> Bool { try rebuild.hasKept() }

    func chooseNew(in store: inout StoreConfiguration) {
        store.url = rebuild.newURL
        // It works alone, and a claim of one writer holds other rebuilds off.
        store.writers = .one
    }

    func retire(_ model: ObjectModel) throws(StoreError) -> any RetiringPlace { RetiringSchema(try rebuild.retire()) }
}

/// An old store in a schema. Its workers are fenced, so nobody has to end them before.
private final class RetiringSchema: RetiringPlace {
    private(set) var viewsOfOldStore: [String] = []
    private let store: PostgresRebuild.Retiring

    init(_ store: PostgresRebuild.Retiring) { self.store = store }

    func take(unless judge: (StoreDescription) throws -> String?) throws -> String? {
        do { return try store.take(unless: judge) } catch let error as StoreError where error.code == .busy {
            return "caught up, and waiting for the old store: \(error.message)"
        }
    }

    func giveBack() { store.giveBack() }

    func exchange(atStep: (String) -> Void) throws { viewsOfOldStore = try store.exchange(atStep: atStep) }
}

import Foundation
import GRDB

/// Brings stores of older layouts up to date. Before the third, attributes of one name and several types shared a column
/// without a type. Before the fourth, transactions had no trace context and no epoch, and requests left no audit entry.
struct LayoutUpgrade {
    private let model: ObjectModel
    /// The same model with the columns of the layouts before.
    private let former: ObjectModel

    init(_ model: ObjectModel) {
        self.model = model
        former = model.laidOut(.untyped)
    }

    /// Tells whether a store of the second layout has other columns.
    var changesColumns: Bool {
        zip(model.entities, former.entities).contains { $0.columnNames != $1.columnNames }
    }

    /// Upgrades the store inside the caller's transaction. The connection may not enforce foreign keys: tables are exchanged.
    ///
    /// - Throws: ``StoreError`` with the code `store.leased` while a worker writes the store.
    func run(_ database: Database, from format: Int) throws {
        try checkLease(database)
        if format < 2 {
            for statement in Schema.upgradeFromFirst { try database.execute(sql: statement) }
        }
        for statement in SQLiteDialect.auditAdditions { try database.execute(sql: statement) }
        if format < 3, changesColumns {
            let script = try MigrationScript(ModelMapping(from: former, to: model), nil, database, place: .sameFile)
            let run = MigrationRun(script: script, database: database, options: Migrator.Options())
            try run.runInPlace()
            try run.verify()
        }
        try database.execute(
            sql: "UPDATE _metadata SET value = ? WHERE key = 'formatVersion'",
            arguments: [String(Schema.formatVersion)])
    }

    /// A program of an older version that has the store open knows nothing of the new layout, and could not open it again.
    private func checkLease(_ database: Database) throws {
        guard let row = try Row.fetchOne(database, sql: "SELECT holder, expires FROM _lease WHERE id = 1"),
            let holder = LeaseHolder(text: row[0]),
            holder.isAlive(expires: row[1], now: Int64(Date().timeIntervalSince1970 * 1_000_000))
        else { return }
        throw StoreError(
            .leased,
            "The store is of an older layout, and process \(holder.process) on \(holder.host) writes it",
            remedy: "Stop that worker first; the store is unharmed")
    }
}

import Foundation
import GRDB

extension ReadContext {
    /// The last token, or 0 while there is no history.
    public func lastToken() throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(token) FROM _history_transaction") ?? purgedToken()
    }

    /// The last token whose changes were purged, or 0.
    public func purgedToken() throws -> Int64 {
        try metadata("purgedToken").flatMap { Int64($0) } ?? 0
    }

    /// Returns the transactions after a token in their order: at most `limit`, and together no more than
    /// `maximumChangeCount` changes. Of one that alone has more, the first page is returned:
    /// ``HistoryTransaction/nextIndex`` tells where ``transaction(_:from:limit:)`` goes on.
    ///
    /// - Throws: ``StoreError`` with code `history.expired` where transactions after the token were purged.
    public func history(
        after token: Int64, limit: Int = 100, maximumChangeCount: Int = 10_000
    ) throws -> [HistoryTransaction] {
        try checkNotExpired(token)
        let sql = "SELECT \(Self.transactionColumns) FROM _history_transaction t WHERE token > ? ORDER BY token LIMIT ?"
        var result: [HistoryTransaction] = []
        var total = 0
        let rows = try Row.fetchCursor(database, sql: sql, arguments: [token, limit])
        while let row = try rows.next() {
            let count: Int = row[6]
            if !result.isEmpty, total + count > maximumChangeCount { break }
            total += count
            result.append(try transaction(row, from: 0, limit: maximumChangeCount))
        }
        return result
    }

    static let transactionColumns =
        "t.token, t.time, t.author, t.context, t.source, t.firstChange, t.changeCount"

    func checkNotExpired(_ token: Int64) throws {
        let purged = try purgedToken()
        if token < purged {
            throw StoreError(
                .historyExpired, "The history up to token \(purged) was purged, token \(token) is older",
                remedy:
                    "Read the store itself, then go on from the token that it had: docs/reference/history.md says how")
        }
    }

    /// Returns a page of a transaction's changes: at most `limit`, beginning with the one at `index`; nil where the
    /// history does not hold the transaction.
    public func transaction(_ token: Int64, from index: Int, limit: Int) throws -> HistoryTransaction? {
        let sql = "SELECT \(Self.transactionColumns) FROM _history_transaction t WHERE token = ?"
        return try Row.fetchOne(database, sql: sql, arguments: [token]).map {
            try transaction($0, from: index, limit: limit)
        }
    }

    private func transaction(_ row: Row, from index: Int, limit: Int) throws -> HistoryTransaction {
        let (first, count): (Int64, Int) = (row[5], row[6])
        let index = min(max(0, index), count)
        let size = max(0, min(limit, count - index))
        return HistoryTransaction(
            token: row[0], time: row[1], author: row[2], context: row[3], source: row[4],
            changes: try changes(first: first + Int64(index), count: size), changeCount: count, firstIndex: index)
    }

    private func changes(first: Int64, count: Int) throws -> [HistoryChange] {
        let end = first + Int64(count)
        let statement = try database.cachedStatement(
            sql: "SELECT \(Self.changeColumns) FROM _history_change c WHERE id >= ? AND id < ? ORDER BY id")
        let plain = try Row.fetchAll(statement, arguments: [first, end]).map { (id: $0[0] as Int64, Self.change($0)) }
        if plain.count == count { return plain.map(\.1) }
        var expanded: [(id: Int64, HistoryChange)] = []
        let ranges = try database.cachedStatement(
            sql: """
                SELECT \(Self.rangeColumns) FROM _history_range r WHERE id > ? AND id < ? AND id + count > ? ORDER BY id
                """)
        let earliest = first - Int64(HistoryRange.maximumCount)
        for row in try Row.fetchAll(ranges, arguments: [earliest, end, first]) {
            expanded += try expand(row).filter { $0.id >= first && $0.id < end }
        }
        return (plain + expanded).sorted { $0.id < $1.id }.map(\.1)
    }

    // MARK: Rows of changes

    // Other programs may have put anything there, and GRDB ends the process where a value is of another class.
    static let changeColumns =
        """
        c.id, CAST(c.token AS INTEGER), CAST(c.entity AS TEXT), CAST(c.object AS INTEGER), c.identity, \
        CAST(c.change AS INTEGER), CAST(c.properties AS TEXT), CAST(c.tombstone AS TEXT)
        """

    static func change(_ row: Row) -> HistoryChange {
        HistoryChange(
            entity: row[2], pk: row[3], identity: Value(row[4] as DatabaseValue),
            kind: ChangeKind(rawValue: row[5]) ?? .update, properties: names(row[6]), tombstone: row[7], token: row[1])
    }

    private static func names(_ properties: String?) -> [String] {
        properties?.split(separator: ",").map { String($0) } ?? []
    }

    static let rangeColumns =
        """
        r.id, CAST(r.token AS INTEGER), CAST(r.entity AS TEXT), CAST(r.first AS INTEGER), CAST(r.last AS INTEGER), \
        CAST(r.count AS INTEGER), CAST(r.objects AS TEXT), CAST(r.change AS INTEGER), CAST(r.properties AS TEXT)
        """

    /// Returns the changes that a range stands for, with their ids.
    func expand(_ row: Row) throws -> [(id: Int64, HistoryChange)] {
        let kind = ChangeKind(rawValue: row[7]) ?? .update
        let range: HistoryRange
        if let objects: String = row[6] {
            range = HistoryRange(
                first: row[3], last: row[4], count: row[5], objects: objects, kind: kind, properties: row[8])
        } else {
            let (first, last): (Int64, Int64) = (row[3], row[4])
            let (distance, overflow) = last.subtractingReportingOverflow(first)
            // Another program wrote this row: it is no range, and the verifier reports it.
            if overflow || distance < 0 || distance >= HistoryRange.maximumCount { return [] }
            range = HistoryRange(first: first, last: last, kind: kind, properties: row[8])
        }
        let (id, token, entity): (Int64, Int64, String) = (row[0], row[1], row[2])
        let identities = try identities(of: range, entity: entity, after: id)
        let names = Self.names(range.properties)
        return range.keys.enumerated().map { index, pk in
            let change = HistoryChange(
                entity: entity, pk: pk, identity: identities[pk] ?? .null, kind: kind, properties: names,
                tombstone: nil, token: token)
            return (id + Int64(index), change)
        }
    }

    /// The identities of a range's objects: of those that are there from their table, of others from their deletion.
    private func identities(of range: HistoryRange, entity name: String, after id: Int64) throws -> [Int64: Value] {
        var identities: [Int64: Value] = [:]
        let keys = range.keys
        identities.reserveCapacity(keys.count)
        func add(_ sql: String, _ arguments: StatementArguments) throws {
            let rows = try Row.fetchCursor(try database.cachedStatement(sql: sql), arguments: arguments)
            while let row = try rows.next() { identities[row[0]] = Value(row[1] as DatabaseValue) }
        }
        if let entity = model.entity(named: name) {
            let identity = SQLText.quoted(entity.identity.columnName)
            let selection = "SELECT e.pk, e.\(identity) FROM"
            if range.objects != nil {
                // The list as it was read: SQLite fails at a text that is no JSON.
                let objects = HistoryRange.list(keys[...])
                let sql =
                    "\(selection) json_each(?) o CROSS JOIN \(SQLText.quoted(entity.viewName)) e ON e.pk = o.value"
                try add(sql, [objects])
            } else {
                let sql = "\(selection) \(SQLText.quoted(entity.viewName)) e WHERE e.pk BETWEEN ? AND ?"
                try add(sql, [range.first, range.last])
            }
        }
        if identities.count < keys.count {
            let sql = """
                SELECT object, identity FROM _history_change \
                WHERE change = 2 AND entity = ? AND object BETWEEN ? AND ? AND id > ?
                """
            try add(sql, [name, range.first, range.last, id])
        }
        return identities
    }
}

extension Value {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob([UInt8](data))
        }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .double(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}

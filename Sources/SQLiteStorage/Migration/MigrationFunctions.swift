import Foundation
import GRDB

/// The computations of a migration, as one function of SQLite: `_migrated(number, arguments…)`.
///
/// Values never become part of SQL text; a constant is a computation without arguments.
final class MigrationFunctions: @unchecked Sendable {
    typealias Body = ([Value]) -> Value

    // Filled before the first statement runs, on the connection's own thread, and only read after that.
    private var bodies: [Body] = []

    /// Returns the SQL that calls a computation.
    func call(_ arguments: [String], _ body: @escaping Body) -> String {
        bodies.append(body)
        return "_migrated(\((["\(bodies.count - 1)"] + arguments).joined(separator: ", ")))"
    }

    /// Makes the function known to a connection.
    func install(in database: Database) {
        database.add(
            function: DatabaseFunction("_migrated") { [self] arguments in
                guard let number = arguments.first.flatMap({ Int.fromDatabaseValue($0) }) else { return nil }
                return bodies[number](arguments.dropFirst().map { Value($0) }).databaseValue
            })
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

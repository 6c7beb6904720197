import GraphCore
import SQLiteStorage

/// Turns the events of a migration into the steps that people see.
///
/// A value: it counts rows, and knows no time.
package struct MigrationProgress {
    private var name = "beginning"
    private var total = 0
    /// The rows of the tables that are copied.
    private var count = 0
    private var table: (name: String, count: Int)?

    package init() {}

    /// Begins a step of another name, with the number of rows that it copies.
    package mutating func begin(_ name: String, rowCount: Int = 0) -> ProgressMeter.Step {
        (self.name, total, count, table) = (name, rowCount, 0, nil)
        return step
    }

    /// Notes how many rows of a table are done.
    package mutating func pass(table name: String, rowCount: Int) -> ProgressMeter.Step {
        if let table, table.name == name { count -= table.count }
        table = (name, rowCount)
        count += rowCount
        return step
    }

    /// Notes a step of the migration of a file.
    package mutating func apply(_ event: Migrator.Step) -> ProgressMeter.Step {
        switch event {
        case .backingUp: return begin("backing up")
        case .copying(let rowCount, let part, let partCount):
            return begin(partCount > 1 ? "copying, part \(part) of \(partCount)" : "copying", rowCount: Int(rowCount))
        case .copied(let rowCount, _):
            count += Int(rowCount)
            return step
        case .finishing: return begin("making indexes and derived values")
        }
    }

    private var step: ProgressMeter.Step {
        if total == 0 { return ProgressMeter.Step(name, part: table?.name) }
        return ProgressMeter.Step(
            name, part: table?.name, count: count, noun: "row", share: Double(count) / Double(total))
    }
}

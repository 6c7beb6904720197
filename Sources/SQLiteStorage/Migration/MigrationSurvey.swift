import GRDB

/// The steps of a stage for the present rows, and the rows' problems with it.
struct MigrationSurvey {
    let difference: ModelDifference
    let steps: [MigrationPlan.Step]
    /// The number of rows in the old model's tables.
    let rowCount: Int64
    let problems: [String]
    let notes: [String]
    let losses: MigrationLosses

    /// - Throws: ``ModelError`` for the mapping, ``MigrationError`` with code `migration.not_inferable`.
    init(_ mapping: ModelMapping, _ expressions: MigrationMapping?, _ database: Database) throws {
        difference = try Migrator.check(mapping, expressions)
        let script = try MigrationScript(mapping, expressions, database, place: .untouched)
        let counts = try MigrationFile.rowCounts(mapping.old, database)
        let checks = MigrationChecks(script: script, difference: difference, database: database)
        steps = script.steps(counts)
        rowCount = counts.values.reduce(0, +)
        problems = try checks.problems()
        notes = try checks.notes()
        losses = try checks.losses()
    }
}

extension MigrationScript {
    /// Makes the script for the rows of a database, which learns to compute what the script asks for.
    ///
    /// - Parameter oldSchema: the schema of the old rows where they stand in another file, or nil.
    init(
        _ mapping: ModelMapping, _ expressions: MigrationMapping?, _ database: Database,
        oldSchema: SchemaSnapshot? = nil, place: Place
    ) throws {
        let functions = MigrationFunctions()
        functions.install(in: database)
        try self.init(
            mapping, expressions, oldSchema: try oldSchema ?? SchemaSnapshot(database), functions: functions,
            place: place)
    }

    /// Makes the script for rows that may be gone.
    init(
        _ mapping: ModelMapping, _ expressions: MigrationMapping?, oldSchema: SchemaSnapshot,
        functions: MigrationFunctions = MigrationFunctions(), place: Place
    ) throws {
        self.init(
            mapping, columns: MigrationColumns(mapping: mapping, expressions: expressions, functions: functions),
            oldSchema: oldSchema, newSchema: try SchemaSnapshot(mapping.new), place: place)
    }
}

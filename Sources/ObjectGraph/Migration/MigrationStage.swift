/// A step of a staged migration, as in Core Data's `NSMigrationStage`.
public enum MigrationStage {
    /// What a program does to the rows at a stage.
    public typealias Body = (MigrationContext) throws -> Void

    /// Goes to a model by inference.
    case lightweight(to: ObjectModel)
    /// Goes from a model to the next by inference, with a program's own work on the rows before and after.
    case custom(from: ObjectModel, to: ObjectModel, willMigrate: Body? = nil, didMigrate: Body? = nil)

    /// The model that the stage leads to.
    public var target: ObjectModel {
        switch self {
        case .lightweight(let model): model
        case .custom(_, let model, _, _): model
        }
    }

    /// Returns the stages that are still before a store of a model.
    ///
    /// - Throws: ``MigrationError`` with code `migration.missing_stage` where no stage begins with the model.
    static func pending(_ stages: [MigrationStage], from model: ObjectModel) throws(MigrationError) -> [MigrationStage]
    {
        func isSame(_ other: ObjectModel) -> Bool { !ModelDifference(from: model, to: other).needsMigration }
        if let done = stages.lastIndex(where: { isSame($0.target) }) { return Array(stages[(done + 1)...]) }
        if let next = stages.firstIndex(where: { stage in
            if case .custom(let source, _, _, _) = stage { isSame(source) } else { false }
        }) {
            return Array(stages[next...])
        }
        if case .lightweight? = stages.first { return stages }
        throw MigrationError(
            .missingStage, "No stage begins with the store's model \(model.name) \(model.version)",
            remedy: "Add the stages before; the store is unharmed")
    }
}

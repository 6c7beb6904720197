import Foundation

/// A step of a staged migration, as in Core Data's `NSMigrationStage`.
public enum MigrationStage {
    /// A program's own work on the rows at a stage.
    public typealias Body = (MigrationContext) throws -> Void

    /// Goes to a model by inference, with expressions for what cannot be inferred.
    case lightweight(to: ObjectModel, mapping: MigrationMapping? = nil)
    /// Goes from a model to the next by inference, with a program's own work on the rows before and after.
    case custom(
        from: ObjectModel, to: ObjectModel, mapping: MigrationMapping? = nil, willMigrate: Body? = nil,
        didMigrate: Body? = nil)

    /// The model that the stage leads to.
    public var target: ObjectModel {
        switch self {
        case .lightweight(let model, _): model
        case .custom(_, let model, _, _, _): model
        }
    }

    /// The model that the stage begins with, or nil where any will do.
    public var source: ObjectModel? {
        if case .custom(let model, _, _, _, _) = self { model } else { nil }
    }

    package var mapping: MigrationMapping? {
        switch self {
        case .lightweight(_, let mapping): mapping
        case .custom(_, _, let mapping, _, _): mapping
        }
    }

    /// The file of the running program, which another one with other closures is not.
    static var program: String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let time = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return "\(path) \(attributes?[.size] as? Int ?? 0) \(time)"
    }

    /// Returns the stages that are still before a store of a model.
    ///
    /// The very model counts before one that the store would serve as well: a stage may change nothing but rows.
    ///
    /// - Throws: ``MigrationError`` with code `migration.missing_stage` where no stage begins with the model.
    static func pending(_ stages: [MigrationStage], from model: ObjectModel) throws(MigrationError) -> [MigrationStage]
    {
        let text = model.yaml
        let agreements: [(ObjectModel) -> Bool] = [
            { $0.yaml == text }, { !ModelDifference(from: model, to: $0).needsMigration },
        ]
        for isSame in agreements {
            if let done = stages.lastIndex(where: { isSame($0.target) }) { return Array(stages[(done + 1)...]) }
            if let next = stages.firstIndex(where: { $0.source.map(isSame) ?? false }) { return Array(stages[next...]) }
        }
        if case .lightweight? = stages.first { return stages }
        throw MigrationError(
            .missingStage, "No stage begins with the store's model \(model.name) \(model.version)",
            remedy: "Add the stages before; the store is unharmed")
    }
}

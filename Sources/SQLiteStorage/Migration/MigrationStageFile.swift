import Foundation
import Yams

extension MigrationStage {
    /// Reads a file with stages: under `stages` a list of the models to go through, in order, each with a mapping where
    /// one is needed. Paths are relative to the file.
    ///
    /// ```yaml
    /// stages:
    ///   - model: shop-2.yaml
    ///   - model: shop-3.yaml
    ///     entities:
    ///       Task:
    ///         priority: { from: priority, map: { low: 1, high: 3 }, otherwise: 0 }
    /// ```
    ///
    /// - Throws: ``ModelError`` with every mistake found in the file, its mappings and its models.
    public static func load(path: String) throws(ModelError) -> [MigrationStage] {
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else {
            throw ModelError(
                file: path, "The file of stages cannot be read", remedy: "Check the path and its permissions")
        }
        var reader = MigrationStageReader(file: path)
        let stages = reader.read(text)
        if reader.problems.isEmpty { return stages }
        throw ModelError(problems: reader.problems)
    }
}

private struct MigrationStageReader {
    let file: String
    var problems: [ModelError.Problem] = []

    init(file: String) { self.file = file }

    mutating func read(_ text: String) -> [MigrationStage] {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text, .basic)
        } catch {
            report(nil, "This is not YAML", "Correct the syntax")
            return []
        }
        guard let nodes = root?.mapping?["stages"]?.sequence, root?.mapping?.count == 1, !nodes.isEmpty else {
            report(root?.mark?.line, "There is no list of stages", "Write 'stages:', then '- model: PATH' for each")
            return []
        }
        return nodes.compactMap { stage($0) }
    }

    private mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }

    private mutating func stage(_ node: Node) -> MigrationStage? {
        guard let fields = node.mapping, let path = fields["model"]?.string else {
            report(node.mark?.line, "A stage names no model", "Write '- model: PATH'")
            return nil
        }
        for (key, _) in fields where !["model", "entities"].contains(key.string ?? "") {
            report(key.mark?.line, "'\(key.string ?? "")' is no key of a stage", "Known keys are: model, entities")
        }
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        do throws(ModelError) {
            let model = try ObjectModel.load(path: URL(fileURLWithPath: path, relativeTo: folder).path)
            let mapping = try fields["entities"].map { node throws(ModelError) in
                try MigrationMapping.read(node, file: file)
            }
            return .lightweight(to: model, mapping: mapping)
        } catch {
            problems += error.problems
            return nil
        }
    }
}

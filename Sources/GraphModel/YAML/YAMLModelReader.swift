import Foundation
import Yams

/// Reads a model file in YAML into a declaration, noting every mistake with its line.
package struct YAMLModelReader {
    private let file: String
    private(set) var problems: [ModelError.Problem] = []

    init(file: String) { self.file = file }

    mutating func read(_ text: String) -> ModelDeclaration {
        var model = ModelDeclaration()
        guard let root = compose(text) else { return model }
        let keys: Set = ["model", "version", "info", "entities"]
        guard let fields = mapping(root, "the model", allowed: keys) else { return model }
        if let name = fields["model"] { model.name = string(name, "model") ?? model.name }
        if let version = fields["version"] { model.version = string(version, "version") ?? model.version }
        model.info = texts(fields["info"], "'info' of the model")
        guard let entities = fields["entities"] else {
            report(nil, "There are no entities", "Declare at least one under 'entities:'")
            return model
        }
        for (key, node) in pairs(entities, "'entities'") {
            model.entities.append(readEntity(name: key, node))
        }
        return model
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }

    private mutating func compose(_ text: String) -> Node? {
        do {
            if let node = try Yams.compose(yaml: text, .basic) { return node }
            report(nil, "The file is empty", "Write a model; docs/reference/model.md shows one")
        } catch let error as YamlError {
            report(line(of: error), "This is not YAML: \(summary(of: error))", "Correct the syntax at that line")
        } catch {
            report(nil, "This is not YAML", "Correct the syntax")
        }
        return nil
    }

    private func line(of error: YamlError) -> Int? {
        switch error {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _): mark.line
        case .duplicatedKeysInMapping(_, let context): context.mark.line
        default: nil
        }
    }

    private func summary(of error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _): problem
        case .duplicatedKeysInMapping(let keys, _):
            "a key stands twice: \(keys.map { "\($0)" }.sorted().joined(separator: ", "))"
        default: "it cannot be read"
        }
    }
}

import ArgumentParser
import IngestCore
import ObjectGraph

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Describes a model, draws it, writes it as YAML or compares two.",
        subcommands: [Describe.self, Diagram.self, YAML.self, Diff.self])

    struct Describe: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Describes a model: entities, attributes, relationships, delete rules.",
            discussion: "Example: ingest-worker model describe config/models/chat.yaml --json")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The model file; the configured one if none is named.")
        var path: String?

        @Flag(help: "Prints JSON.")
        var json = false

        func run() throws {
            let model = try ModelCommand.load(path, options)
            let description = ModelDescription(model)
            guard json else {
                Console.print(description.text)
                return
            }
            Console.printJSON(description.appendJSON)
        }
    }

    struct Diagram: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Draws a model as a Mermaid diagram.",
            discussion: "Example: ingest-worker model diagram config/models/chat.yaml > chat.mmd")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The model file; the configured one if none is named.")
        var path: String?

        func run() throws {
            Console.print(ModelDiagram(try ModelCommand.load(path, options)).entityRelationshipText)
        }
    }

    struct YAML: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes a model as a YAML model file: the same text for the same model.",
            discussion: "Example: ingest-worker model yaml Shop.xcdatamodeld > config/models/shop.yaml")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The model: YAML, .xcdatamodel or .xcdatamodeld; the configured one if none is named.")
        var path: String?

        func run() throws {
            Console.write(try ModelCommand.load(path, options).yaml)
        }
    }

    struct Diff: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compares two models: what changed, and what of it a migration can infer.",
            discussion: "Exits with 0 where they are equal, else with 65. "
                + "Example: ingest-worker model diff 'Shop.xcdatamodeld/Shop.xcdatamodel' Shop.xcdatamodeld")

        @Argument(help: "The old model.")
        var old: String

        @Argument(help: "The new model.")
        var new: String

        @Flag(help: "Prints JSON.")
        var json = false

        func run() throws {
            let difference = ModelDifference(
                from: try ObjectModel.load(path: old), to: try ObjectModel.load(path: new))
            if json {
                Console.printJSON(difference.appendJSON)
            } else {
                Console.write(difference.text)
            }
            if !difference.isEmpty { throw ExitCode(ExitStatus.badData) }
        }
    }

    /// Loads a model and tells what of its file has no effect here.
    fileprivate static func load(_ path: String?, _ options: SharedOptions) throws -> ObjectModel {
        let model = try ObjectModel.load(path: try path ?? options.load().configuration.model)
        for note in model.notes { Console.note("ingest-worker: \(note)") }
        return model
    }
}

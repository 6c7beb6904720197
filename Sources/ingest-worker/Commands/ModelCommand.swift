import ArgumentParser
import GraphCore
import IngestCore

struct ModelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "model", abstract: "Checks a model, describes it, draws it, writes it as YAML or compares two.",
        subcommands: [Check.self, Describe.self, Diagram.self, YAML.self, Diff.self])

    struct Check: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Checks models: all problems of each file, with line and remedy.",
            discussion:
                "Exits with 0 where all of them load and the configured kind of store can keep them, else with 78. Lists derived attributes whose cost grows with "
                + "the number of objects, and what makes them cheaper. "
                + "Example: ingest-worker model check config/models/chat.yaml Shop.xcdatamodeld")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The models: YAML, .xcdatamodel or .xcdatamodeld; the configured one if none is named.")
        var paths: [String] = []

        @Flag(help: "Prints one JSON object per model: path, counts, problems and costs.")
        var json = false

        func run() throws {
            // A model that is named may be checked where there is no configuration.
            let loaded = Result { try options.load(takesAllStores: true).configuration }
            let configuration = paths.isEmpty ? try loaded.get() : try? loaded.get()
            let paths = paths.isEmpty ? [configuration?.model].compactMap(\.self) : paths
            var refused = 0
            for path in paths {
                do {
                    let model = try ModelCommand.load(path, options)
                    try (configuration ?? WorkerConfiguration()).checkStorage(canKeep: model)
                    let costs = model.derivationCosts.map { "\($0)" }
                    Console.print(json ? Self.json(path, model.counts, costs: costs) : Self.text(path, model.counts))
                    if !json { for cost in costs { Console.note("\(path): \(cost)") } }
                } catch let error as ModelError {
                    refused += 1
                    if json { Console.print(Self.json(path, nil, problems: error.problems.map { "\($0)" })) }
                    if !json { for problem in error.problems { Console.note("\(problem)") } }
                } catch let error as StoreError where error.code == .modelUnsuited {
                    refused += 1
                    let problem = "\(path): \(error.explanation)"
                    if json { Console.print(Self.json(path, nil, problems: [problem])) } else { Console.note(problem) }
                }
            }
            if refused > 0 { throw ExitCode(ExitStatus.configuration) }
        }

        private static func text(_ path: String, _ counts: ModelCounts) -> String {
            "\(path): \(counted(counts.entities, "entity")), \(counted(counts.attributes, "attribute")), "
                + "\(counted(counts.relationships, "relationship"))"
        }

        private static func json(
            _ path: String, _ counts: ModelCounts?, problems: [String] = [], costs: [String] = []
        ) -> String {
            var object = JSONObject(["path": path])
            object.add("entities", counts?.entities)
            object.add("attributes", counts?.attributes)
            object.add("relationships", counts?.relationships)
            object.add("problems", problems)
            object.add("costs", costs)
            return object.json
        }
    }

    struct Describe: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "describe", abstract: "Describes a model: entities, attributes, relationships, delete rules.",
            discussion: "Example: ingest-worker model describe config/models/chat.yaml --json")

        @OptionGroup var options: SharedOptions

        @Argument(help: "The model file; the configured one if none is named.")
        var path: String?

        @Flag(help: "Prints JSON.")
        var json = false

        func run() throws {
            let model = try ModelCommand.load(path, options)
            let description = ModelDescription(model)
            Console.print(json ? description.json : description.text)
        }
    }

    struct Diagram: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "diagram", abstract: "Draws a model as a Mermaid diagram, or as SVG.",
            discussion: """
                Example: ingest-worker model diagram config/models/chat.yaml > chat.mmd
                Example: ingest-worker model diagram config/models/chat.yaml --svg > chat.svg
                """)

        @OptionGroup var options: SharedOptions

        @Argument(help: "The model file; the configured one if none is named.")
        var path: String?

        @Flag(help: "Draws SVG, as the console shows it.")
        var svg = false

        func run() throws {
            let diagram = ModelDiagram(try ModelCommand.load(path, options))
            Console.print(svg ? diagram.svg : diagram.entityRelationshipText)
        }
    }

    struct YAML: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "yaml", abstract: "Writes a model as a YAML model file: the same text for the same model.",
            discussion: """
                Of a store it is the model that the store has.
                Example: ingest-worker model yaml Shop.xcdatamodeld > config/models/shop.yaml
                Example: ingest-worker model yaml data/ingest.sqlite > config/models/former.yaml
                """)

        @OptionGroup var options: SharedOptions

        @Argument(
            help: "A model, or a store: a file of SQLite or the URL of a schema; the configured model if none is named."
        )
        var path: String?

        func run() throws {
            Console.write(try ModelCommand.load(path, options).yaml)
        }
    }

    struct Diff: ReadingCommand {
        static let configuration = CommandConfiguration(
            commandName: "diff",
            abstract: "Compares two models: lists the changes, and says which of them a migration can infer.",
            discussion: "Ends with 0 if they are equal, else with 65. "
                + "Example: ingest-worker model diff 'Shop.xcdatamodeld/Shop.xcdatamodel' Shop.xcdatamodeld")

        @Argument(help: "The old model.")
        var old: String

        @Argument(help: "The new model.")
        var new: String

        @Flag(help: "Prints JSON.")
        var json = false

        func run() throws {
            let difference = ModelDifference(
                from: try ObjectModel.load(fileOrStore: old), to: try ObjectModel.load(fileOrStore: new))
            Console.write(json ? difference.json + "\n" : difference.text)
            if !difference.isEmpty { throw ExitCode(ExitStatus.badData) }
        }
    }

    /// Loads a model and tells what of its file has no effect here.
    fileprivate static func load(_ path: String?, _ options: SharedOptions) throws -> ObjectModel {
        let model = try ObjectModel.load(
            fileOrStore: try path ?? options.load(takesAllStores: true).configuration.model)
        for note in model.notes { Console.note("ingest-worker: \(note)") }
        return model
    }
}

import ArgumentParser
import GraphCore
import IngestCore

struct ConflictsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts", abstract: "Shows the conflicts that merge policies resolved.",
        subcommands: [List.self, Drop.self], defaultSubcommand: List.self)

    struct List: ReadingCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists resolved conflicts with both values and the decision.",
            discussion: "Example: ingest-worker conflicts list --limit 20")

        @OptionGroup var options: SharedOptions

        @Option(help: "Only conflicts after this number.")
        var after: Int64 = 0

        @Option(help: "The maximum number of conflicts.")
        var limit = 100

        @OptionGroup var form: ListForm

        var argumentOfOneStore: String? { after == 0 ? nil : "The number of --after" }

        func run() throws {
            let store = try options.openForReading()
            for note in try store.read({ try $0.conflicts(after: after, limit: limit) }) {
                form.print(note.summary(store.model), json: note.json(store.model))
            }
        }
    }

    struct Drop: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Removes reviewed conflicts.",
            discussion:
                "A running worker carries this out and keeps reading. Example: ingest-worker conflicts drop --through 12"
        )

        @OptionGroup var options: SharedOptions

        @Option(help: "Removes conflicts up to this number.")
        var through: Int64

        @Flag(help: "Prints one JSON object with the count of conflicts.")
        var json = false

        func run() throws {
            let answer = try options.carryOut(.dropConflicts(through: through))
            guard case .conflictsDropped(let count) = answer else { return }
            if json { return Console.print(answer.json) }
            Console.print("\(counted(count, "conflict")) removed")
        }
    }
}

extension ConflictNote {
    private func name(_ model: ObjectModel) -> String {
        let type = model.entity(named: entity)?.identity.type ?? .string
        return type.text(of: identity)
    }

    func summary(_ model: ObjectModel) -> String {
        let place = "\(entity) \(name(model))\(property.map { ".\($0)" } ?? "")"
        let values = "  context \(local ?? "deleted"), store \(stored ?? "deleted")"
        return "\(id)  \(Timestamp.text(time))  \(kind)  \(place)\(values)  \(policy): \(decision)"
    }

    func json(_ model: ObjectModel) -> String {
        JSONObject([
            "id": id, "token": token, "time": Timestamp.text(time), "kind": kind, "entity": entity,
            "identity": name(model), "property": property, "local": local.map { JSONFragment($0) },
            "stored": stored.map { JSONFragment($0) }, "policy": policy, "decision": decision, "source": source,
        ]).json
    }
}

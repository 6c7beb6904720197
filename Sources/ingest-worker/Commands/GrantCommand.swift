import ArgumentParser
import GraphCore
import IngestCore

struct GrantCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Gives a role of a PostgreSQL server rights on the store, instead of those that it has.",
        discussion: """
            A reader sees objects, history and records, but of dead-letter records neither key, value nor headers. An \
            inspector sees these too. A writer can run a worker. store.url names the role that owns the store.
            Example: ingest-worker grant reader analyst --set store.url=file:/etc/ingest-worker/store-url
            """)

    @OptionGroup var options: SharedOptions

    @Argument(help: "The rights: reader, inspector or writer.")
    var rights: String

    @Argument(help: "The role, which is there already.")
    var role: String

    @Flag(help: "Prints one JSON object: role, rights and store.")
    var json = false

    func validate() throws {
        let known = WorkerConfiguration.namesOfRights
        if known.contains(rights) { return }
        throw ValidationError("'\(rights)' is none of the rights \(known.joined(separator: ", "))")
    }

    func run() throws {
        let configuration = try options.load().configuration
        let model = try ObjectModel.load(path: configuration.model)
        try configuration.grant(rights, to: role, model: model)
        if json {
            return Console.print(
                JSONObject(["role": role, "rights": rights, "store": configuration.storePlace]).json)
        }
        Console.note("'\(role)' is a \(rights) of \(configuration.storePlace)")
    }
}

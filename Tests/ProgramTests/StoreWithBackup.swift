import Testing

/// A store of made-up events, a backup of it, and a change since.
struct StoreWithBackup {
    /// The contents of the store as the backup has them.
    let saved: Substring
    /// The contents of the store since.
    let later: Substring

    /// - Parameters:
    ///   - store: the options that name the store.
    ///   - seeds: of the events before the backup, and of those after it.
    init(_ store: [String], backup: String, in workspace: Workspace, seeds: (Int, Int)) throws {
        let (first, second) = (workspace.path("first.jsonl"), workspace.path("second.jsonl"))
        for (file, seed) in [(first, seeds.0), (second, seeds.1)] {
            try Foreign.generateEvents(400, seed: seed, to: file)
        }
        for arguments in [["replay", first], ["backup", backup]] { _ = try Program.run(arguments + store, status: 0) }
        saved = try Program.contents(ofStore: store)
        _ = try Program.run(["replay", second] + store, status: 0)
        later = try Program.contents(ofStore: store)
        try #require(saved != later)
    }
}

extension Program {
    /// Runs a command that has to end with a status.
    static func run(_ arguments: [String], status: Int32) throws -> Result {
        let result = try run(arguments)
        try #require(result.status == status, "\(arguments): \(result.output)\(result.errors)")
        return result
    }
}

import ArgumentParser
import GraphCore
import IngestCore

/// A command for a store. Where each partition has one, it runs for each of them in turn, unless `--store` names some.
///
/// A line of text gets the store's number before it, and a JSON object a first member `store`.
protocol StoreCommand: ParsableCommand {
    var options: SharedOptions { get set }

    /// The argument that names something of one store, such as a dead letter's number; nil where none is given.
    var argumentOfOneStore: String? { get }

    /// Whether what the command prints stays as it is: another program reads it.
    var printsForPrograms: Bool { get }

    /// Runs for the stores of several partitions.
    mutating func run(forStores partitions: [Int32]) throws
}

extension StoreCommand {
    var argumentOfOneStore: String? { nil }
    var printsForPrograms: Bool { false }

    mutating func run(forStores partitions: [Int32]) throws { try runForEach(of: partitions) }

    /// Runs the command as it stands for one store after the other. A store that fails ends no other one's run.
    ///
    /// - Throws: `ExitCode` of the first store that failed; `ValidationError` where the arguments have a mistake.
    func runForEach(
        of partitions: [Int32], _ run: (inout Self) throws -> Void = { try $0.run() }
    ) throws {
        if let argument = argumentOfOneStore {
            throw ValidationError("\(argument) is of one store: choose it, as in --store \(partitions.first ?? 0)")
        }
        defer { Console.endStores() }
        var firstFailure: ExitCode?
        for partition in partitions {
            var command = self
            command.options.store = StoreChoice(partition)
            Console.begin(store: partition, marksOutput: !printsForPrograms)
            do {
                try run(&command)
            } catch let code as ExitCode {
                firstFailure = firstFailure ?? code
            } catch {
                // A mistake in the arguments is one for every store.
                guard let code = ExitStatus.code(of: error) else { throw error }
                Console.note("\(error)", level: .error)
                firstFailure = firstFailure ?? ExitCode(code)
            }
        }
        if let firstFailure { throw firstFailure }
    }

    /// Runs for the store of the configuration, or for the stores of all partitions that are meant.
    mutating func runForStores() throws {
        guard let partitions = try options.severalStores() else { return try run() }
        try run(forStores: partitions)
    }
}

/// The stores that `--store` names by their partitions.
struct StoreChoice: ExpressibleByArgument {
    let partitions: [Int32]

    init(_ partition: Int32) { partitions = [partition] }

    init?(argument: String) {
        guard let named = PartitionSelection(argument)?.named else { return nil }
        partitions = named
    }

    /// The one store that is named; nil where there are several.
    var one: Int32? { partitions.count == 1 ? partitions[0] : nil }
}

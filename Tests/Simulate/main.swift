import Foundation
import GraphModel
import Simulation
import TestSupport

// Lives of simulated workers, one after the other.
//
//   simulate [--stores] [--seed N] [--lives N] [--seconds N]
//   simulate [--stores] --night FILE [--lives N]
//
// With `--stores` each partition has a store of its own, and each process a worker for each of its partitions.
// Without a seed the first one is random; the program prints it. With `--seed` and without a number of lives it lives that
// one again, and prints its report. It ends with 1 where a life fails. A night goes on where its file ends, until that has
// so many lives, and lives on behind a life that fails.

// The order of sets and dictionaries differs between processes, unless this says that it does not.
if ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    let path = "/proc/self/exe"
    let arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv(path, arguments)
    perror("simulate: cannot start again")
    exit(70)
}

/// Prints a line that is seen at once, also in a file.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

func text(_ name: String) -> String? {
    guard let index = CommandLine.arguments.firstIndex(of: name), index + 1 < CommandLine.arguments.count else {
        return nil
    }
    return CommandLine.arguments[index + 1]
}

func option(_ name: String) -> UInt64? { text(name).flatMap { UInt64($0) } }

let kind: Life.Kind = CommandLine.arguments.contains("--stores") ? .stores : .workers

/// Lives until the file of a night has so many lives, and returns whether none failed.
func live(through lives: UInt64, of path: String, _ model: ObjectModel) throws -> Bool {
    var night = Night(path: path)
    while night.tally.lives < lives {
        let first = night.nextSeed ?? UInt64.random(in: 0...UInt64(UInt32.max))
        var runs = Runs(
            model: model, kind: kind, first: first, lives: min(Runs.block, lives - night.tally.lives), seconds: nil)
        let failure = runs.run { _ in }
        try night.add(runs.tally, from: first, isFailed: failure != nil)
        failure.map(say)
        say("\(night.tally); \(night.failedSeeds.count) failed")
    }
    say("\(night.tally); failed: \(night.failedSeeds)")
    return night.failedSeeds.isEmpty
}

do {
    let model = try SimulatedModel.chat()
    if let path = text("--night") {
        exit(try live(through: option("--lives") ?? .max, of: path, model) ? 0 : 1)
    }
    let seed = option("--seed")
    let seconds = option("--seconds").map { Double($0) }
    let lives = option("--lives") ?? (seed == nil && seconds == nil ? 1000 : seconds == nil ? 1 : .max)
    let first = seed ?? UInt64.random(in: 0...UInt64(UInt32.max))
    say("lives from seed \(first)")
    var runs = Runs(model: model, kind: kind, first: first, lives: lives, seconds: seconds)
    let failure = runs.run(progress: say)
    say("\(runs.tally)")
    if let failure {
        say(failure)
        exit(1)
    }
} catch {
    say("\(error)")
    exit(70)
}

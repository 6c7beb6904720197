import Foundation

// graph-benchmarks [--rounds N] [--scale FACTOR] [--check] [COMPARISON[=COUNT] …]: compares the object graph with bare
// SQLite in one run, and prints a table. Each step runs in a process of its own, so that its memory is its own.

do {
    let arguments = Array(CommandLine.arguments.dropFirst())
    // A profiler wants one step alone: prepare and step, each COMPARISON COUNT WAY PATH.
    if arguments.count == 5, arguments[0] == "prepare" {
        try comparison(arguments[1]).init(count: Int(arguments[2]) ?? 0).prepare(arguments[3], path: arguments[4])
    } else if arguments.count == 5, arguments[0] == "step" {
        try step(Array(arguments.dropFirst()))
    } else {
        let options = try Options(arguments)
        let isMissed = try compare(options)
        exit(isMissed && options.isCheck ? 1 : 0)
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(64)
}

import Foundation

// graph-benchmarks COMPARISON [COUNT] [ROUNDS]: compares the object graph with bare SQLite, in one run.
// Each measured step runs in a process of its own, so that its peak memory is its own.

let arguments = CommandLine.arguments
let comparisons: [String: any Comparison.Type] = [
    "batch-update": BatchUpdateComparison.self, "cascade": CascadeComparison.self,
]

guard arguments.count >= 2 else {
    print("usage: graph-benchmarks \(comparisons.keys.sorted().joined(separator: "|")) [COUNT] [ROUNDS]")
    exit(64)
}
if arguments[1] == "step", arguments.count == 6, let comparison = comparisons[arguments[2]] {
    try comparison.init(count: Int(arguments[5]) ?? 0).step(arguments[3], path: arguments[4])
} else if let comparison = comparisons[arguments[1]] {
    let count = arguments.count > 2 ? Int(arguments[2]) : nil
    let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 3 : 3
    try Runner(name: arguments[1], comparison: comparison.init(count: count), rounds: rounds).run()
} else {
    print("'\(arguments[1])' is no comparison")
    exit(64)
}

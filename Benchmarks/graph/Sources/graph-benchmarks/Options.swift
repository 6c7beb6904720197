import Foundation

let comparisons: [any Comparison.Type] = [
    CascadeComparison.self, BatchUpdateComparison.self, FetchComparison.self, SaveComparison.self,
]

func comparison(_ name: String) throws -> any Comparison.Type {
    guard let found = comparisons.first(where: { $0.name == name }) else {
        throw Failure(
            message: "'\(name)' is no comparison: name \(comparisons.map { $0.name }.joined(separator: ", "))")
    }
    return found
}

func step(_ arguments: [String]) throws {
    let comparison = try comparison(arguments[0]).init(count: Int(arguments[1]) ?? 0)
    print(try comparison.step(arguments[2], path: arguments[3]).line)
}

struct Options {
    var rounds = 5
    var scale = 1.0
    var isCheck = false
    var chosen: [any Comparison] = []

    init(_ arguments: [String]) throws {
        var names: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--rounds":
                guard let number = rest.popFirst().flatMap({ Int($0) }), number > 0 else {
                    throw Failure(message: "--rounds takes a number from 1 up")
                }
                rounds = number
            case "--scale":
                guard let number = rest.popFirst().flatMap({ Double($0) }), number > 0, number <= 10 else {
                    throw Failure(message: "--scale takes a factor such as 0.01")
                }
                scale = number
            case "--check": isCheck = true
            default: names.append(argument)
            }
        }
        for name in names.isEmpty ? comparisons.map({ $0.name }) : names {
            let parts = name.split(separator: "=").map { String($0) }
            let type = try comparison(parts[0])
            let count = parts.count > 1 ? Int(parts[1]) : Int(Double(type.standardCount) * scale)
            guard let count, count >= 100 else {
                throw Failure(message: "\(parts[0]) takes a number of rows from 100 up")
            }
            chosen.append(type.init(count: count))
        }
    }
}

func compare(_ options: Options) throws -> Bool {
    var notes: [String] = []
    var isMissed = false
    FileHandle.standardOutput.write(Data("\(Report.header)\n".utf8))
    for comparison in options.chosen {
        let report = try Runner(comparison: comparison, rounds: options.rounds).run()
        // Written at once: the next comparison takes a while.
        for row in report.rows { FileHandle.standardOutput.write(Data("\(row)\n".utf8)) }
        notes += report.notes
        isMissed = isMissed || !report.missed.isEmpty
    }
    print("\nThe least of \(options.rounds) rounds.")
    for note in notes { print(note) }
    return isMissed
}

import Foundation

/// Runs the ways of a comparison in turn, each in a process of its own on a fresh copy, and keeps the least of each
/// measurement: what other work on the machine adds is no part of it.
struct Runner {
    let comparison: any Comparison
    let rounds: Int

    private var name: String { type(of: comparison).name }

    private var ways: [String] {
        var seen: Set<String> = []
        return comparison.pairs.flatMap { [$0.base, $0.way] }.filter { seen.insert($0).inserted }
    }

    func run() throws -> Report {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("graph-benchmarks-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        for (number, way) in ways.enumerated() { try comparison.prepare(way, path: path("way\(number)")) }
        let notes = try comparison.notes(path: path("way0"))
        var results: [String: [Measurement]] = [:]
        for _ in 0..<rounds {
            for (number, way) in ways.enumerated() {
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: path("copy") + suffix)
                }
                try FileManager.default.copyItem(atPath: path("way\(number)"), toPath: path("copy"))
                // The copy's own writing is over before the clock begins.
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: path("copy")))
                try file.synchronize()
                try file.close()
                results[way, default: []].append(try step(way, path("copy")))
            }
        }
        return Report(pairs: comparison.pairs, results: results.mapValues(Measurement.least), notes: notes)
    }

    private func step(_ way: String, _ path: String) throws -> Measurement {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["step", name, String(comparison.count), way, path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let measurement = Measurement(line: text) else {
            throw Failure(message: "\(name), \(way): the step failed")
        }
        return measurement
    }
}

/// The results of one comparison as rows of a table.
struct Report {
    let pairs: [Pairing]
    let results: [String: Measurement]
    let notes: [String]

    static let header = """
        | what | against | s | s | ratio | aim | CPU ratio | memory growth MB |
        |---|---|---|---|---|---|---|---|
        """

    /// The pairs that miss their aims.
    var missed: [Pairing] {
        pairs.filter { pair in
            guard let base = results[pair.base], let own = results[pair.way] else { return true }
            return own.seconds > base.seconds * (pair.aim ?? .infinity)
                || own.growthMegabytes > pair.growthAimMegabytes ?? .infinity
        }
    }

    var rows: [String] {
        pairs.compactMap { pair in
            guard let base = results[pair.base], let own = results[pair.way] else { return nil }
            let growth = pair.growthAimMegabytes.map { String(format: " (aim %.0f)", $0) } ?? ""
            let cells = [
                "\(pair.title): \(pair.way)", pair.base, String(format: "%.3f", base.seconds),
                String(format: "%.3f", own.seconds), String(format: "%.2f", own.seconds / base.seconds),
                pair.aim.map { String(format: "%.1f", $0) } ?? "",
                String(format: "%.2f", own.cpuSeconds / base.cpuSeconds),
                String(format: "%.0f", own.growthMegabytes) + growth,
            ]
            return "| \(cells.joined(separator: " | ")) |"
        }
    }
}

import Foundation

/// Two or more ways to do the same to copies of one store; the first is what the others are compared with.
protocol Comparison {
    init(count: Int?)
    var count: Int { get }
    var ways: [String] { get }
    /// Makes the store that each way begins with.
    func prepare(_ way: String, path: String) throws
    /// Does it one way, and prints what it took.
    func step(_ way: String, path: String) throws
}

/// Runs the ways of a comparison in turn, each in a process of its own on a fresh copy, and prints medians.
struct Runner {
    let name: String
    let comparison: any Comparison
    let rounds: Int

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("graph-benchmarks-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for way in comparison.ways { try comparison.prepare(way, path: folder.appendingPathComponent(way).path) }
        var results: [String: [[Double]]] = [:]
        for _ in 0..<rounds {
            for way in comparison.ways {
                let copy = folder.appendingPathComponent("copy").path
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
                try FileManager.default.copyItem(atPath: folder.appendingPathComponent(way).path, toPath: copy)
                results[way, default: []].append(try measure(way, copy))
            }
        }
        print("\(name), \(comparison.count) rows, median of \(rounds)")
        let base = results[comparison.ways[0]].map(Self.medians) ?? []
        for way in comparison.ways {
            let medians = results[way].map(Self.medians) ?? []
            guard medians.count == 3, base.count == 3 else { continue }
            print(
                String(
                    format: "%@: %.2f s (%.2f), CPU %.2f s (%.2f), peak %.0f MB", way, medians[0], medians[0] / base[0],
                    medians[1], medians[1] / base[1], medians[2]))
        }
    }

    private func measure(_ way: String, _ path: String) throws -> [Double] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["step", name, way, path, String(comparison.count)]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    private static func medians(_ rows: [[Double]]) -> [Double] {
        (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column] }.sorted()[rows.count / 2] }
    }
}

/// Measures what a piece of work takes, and prints seconds, CPU seconds and the process's peak memory in MB.
func measured(_ work: () throws -> Void) rethrows {
    let clock = ContinuousClock()
    let cpu = cpuSeconds()
    let time = try clock.measure { try work() }
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    var usage = rusage()
    getrusage(RUSAGE_SELF, &usage)
    print(seconds, cpuSeconds() - cpu, Double(usage.ru_maxrss) / 1024)
}

private func cpuSeconds() -> Double {
    var usage = rusage()
    getrusage(RUSAGE_SELF, &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

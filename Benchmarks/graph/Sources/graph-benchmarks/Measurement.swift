import Foundation

/// What a piece of work took.
struct Measurement {
    var seconds: Double
    var cpuSeconds: Double
    /// By how much the process's resident memory was greater at its peak than before.
    var growthMegabytes: Double

    var line: String { "\(seconds) \(cpuSeconds) \(growthMegabytes)" }

    init(seconds: Double, cpuSeconds: Double, growthMegabytes: Double) {
        self.seconds = seconds
        self.cpuSeconds = cpuSeconds
        self.growthMegabytes = growthMegabytes
    }

    init?(line: String) {
        let numbers = line.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 3 else { return nil }
        self.init(seconds: numbers[0], cpuSeconds: numbers[1], growthMegabytes: numbers[2])
    }

    /// The least of each.
    static func least(_ list: [Measurement]) -> Measurement {
        Measurement(
            seconds: list.map(\.seconds).min() ?? .nan, cpuSeconds: list.map(\.cpuSeconds).min() ?? .nan,
            growthMegabytes: list.map(\.growthMegabytes).min() ?? .nan)
    }
}

func measure(_ work: () throws -> Void) throws -> Measurement {
    // Begins a new peak; source: proc(5), clear_refs.
    try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    let before = try megabytes("VmRSS")
    let cpu = cpuSeconds()
    let time = try ContinuousClock().measure { try work() }
    return Measurement(
        seconds: Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18,
        cpuSeconds: cpuSeconds() - cpu, growthMegabytes: try megabytes("VmHWM") - before)
}

private func megabytes(_ field: String) throws -> Double {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(field):") }
    let number = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
    return (number ?? .nan) / 1024
}

private func cpuSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

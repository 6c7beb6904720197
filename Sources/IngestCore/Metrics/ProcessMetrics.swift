import Glibc

/// Reads the system's figures of this process from `/proc`.
package enum ProcessMetrics {
    /// Registers `process_resident_memory_bytes`, `process_cpu_seconds_total` and `process_start_time_seconds`.
    package static func register(in registry: MetricsRegistry) {
        registry.add(
            ComputedMetric("process_resident_memory_bytes", "Resident memory of the process.", .gauge) {
                residentMemoryBytes.map(Double.init)
            })
        registry.add(
            ComputedMetric(
                "process_cpu_seconds_total",
                "Time of processors that the process has spent, for itself and in the system.",
                .counter
            ) { processorSeconds })
        let start = startTimeSeconds
        registry.add(
            ComputedMetric("process_start_time_seconds", "Start time of the process, in seconds since 1970.", .gauge) {
                start
            })
    }

    /// The memory in use, in bytes; nil when the system does not say.
    package static var residentMemoryBytes: Int? {
        let fields = contents("/proc/self/statm").split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// The processor time of all threads, in seconds.
    package static var processorSeconds: Double? {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The time the process began, in seconds since 1970; nil when the system does not say.
    package static var startTimeSeconds: Double? {
        // The command name in parentheses may hold spaces: count the fields after it.
        let stat = contents("/proc/self/stat")
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        let boot = contents("/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard fields.count > 19, let ticks = Double(fields[19]),
            let bootSeconds = boot.flatMap({ Double($0.dropFirst("btime ".count)) })
        else { return nil }
        return bootSeconds + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func contents(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import RecordDecoding

/// The routes that the records of a sample met: routes of the file's own decoder, and of dead letters' topics.
struct SampleRoutes {
    private var watched: [(usage: RouteUsage, numbers: [Int])] = []
    /// The numbers of routes by their place in the configuration: several topics may share a route.
    private var numbers: [String: Int] = [:]
    private var count = 0

    /// Whether no decoder is watched.
    var isEmpty: Bool { watched.isEmpty }

    /// Lets a decoder count what its routes find in the next record.
    mutating func watch(_ decoder: EventDecoder) {
        if let usage = decoder.usage, watched.contains(where: { $0.usage === usage }) { return usage.begin() }
        let usage = decoder.beginUsage()
        watched.append((usage, usage.reports.map { number($0) }))
    }

    private mutating func number(_ report: RouteUsage.Report) -> Int {
        if let known = report.location.flatMap({ numbers[$0] }) { return known }
        count += 1
        if let location = report.location { numbers[location] = count }
        return count
    }

    /// Returns the number, from 1, of the route that took a decoder's last record, or nil.
    func number(of decoder: EventDecoder) -> Int? {
        guard let usage = decoder.usage, let position = usage.position,
            let found = watched.first(where: { $0.usage === usage })
        else { return nil }
        return found.numbers[position]
    }

    /// The reports in the order of their numbers.
    var reports: [RouteUsage.Report] {
        var reports = [RouteUsage.Report?](repeating: nil, count: count)
        for (usage, numbers) in watched {
            for (report, number) in zip(usage.reports, numbers) {
                reports[number - 1] = reports[number - 1]?.adding(report) ?? report
            }
        }
        return reports.compactMap { $0 }
    }
}

extension RouteUsage.Report {
    /// The report with the counts of another one about the same route.
    fileprivate func adding(_ other: RouteUsage.Report) -> RouteUsage.Report {
        var sum = self
        sum.records += other.records
        for index in sum.parts.indices where index < other.parts.count {
            sum.parts[index].records += other.parts[index].records
        }
        return sum
    }
}

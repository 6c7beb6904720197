import Foundation
import KafkaClient
import Testing

@testable import IngestCore

/// The pages and the alerts know each check of readiness.
@Suite struct CheckPagesTests {
    /// The checks that a worker or a command can have, whether they pass or fail.
    private static let checks: Set<String> = {
        var found: Set<String> = []
        for work in [nil] + StoreWork.Kind.allCases.map(Optional.some) {
            for choosesPartitions in [false, true] {
                var rules = HealthRules()
                (rules.work, rules.choosesPartitions, rules.needsDeadLetters) = (work, choosesPartitions, true)
                var state = HealthState(rules: rules, at: 0)
                let events: [HealthEvent] = [
                    .halted(reason: "why"), .decodingFailed(TopicPartition("t", 0), reason: "why"),
                    .storeVerified(problems: "why"), .partitionsElsewhere(reason: "why"),
                    .outputLost(topic: "t", reason: "why"),
                ]
                for event in events { state.apply(event, at: 0) }
                found.formUnion(state.readiness(at: 0).map(\.name))
            }
        }
        return found
    }()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: WorkerHarness.root.appending(path: path), encoding: .utf8)
    }

    /// The names in the first column of a table.
    private static func rows(after heading: String, of page: String) throws -> Set<String> {
        let table = try #require(try text(page).components(separatedBy: heading).last)
        let section = try #require(table.components(separatedBy: "\n## ").first)
        let cells = section.matches(of: /(?m)^\| (`[^|]*) \|/).map(\.1)
        return Set(cells.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } })
    }

    @Test func `the table of what to do has each check`() throws {
        #expect(try Self.rows(after: "## IngestCheckFailed\n", of: "docs/how-to/alerts.md") == Self.checks)
    }

    @Test func `the table of the reference has each check`() throws {
        #expect(try Self.rows(after: "## Checks\n", of: "docs/reference/health.md") == Self.checks)
    }

    @Test func `a work that was planned pages nobody`() throws {
        let rules = try Self.text("deploy/prometheus/alerts.yaml")
        let planned = StoreWork.Kind.allCases.filter { $0 != .verification }.map(\.check)
        for (sign, alert) in [("!~", "IngestCheckFailed"), ("=~", "IngestWorkTakesLong")] {
            let rule = try #require(rules.components(separatedBy: "- alert: ").first { $0.hasPrefix("\(alert)\n") })
            let listed = try #require(rule.firstMatch(of: try Regex("check\(sign)\"([^\"]*)\""))?[1].substring)
            #expect(Set(listed.split(separator: "|").map { String($0) }) == Set(planned))
            #expect(rule.contains("severity: \(sign == "!~" ? "page" : "ticket")"))
        }
    }
}

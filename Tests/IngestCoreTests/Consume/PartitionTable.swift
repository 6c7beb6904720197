import Foundation
import KafkaClient
import ObjectGraph

@testable import IngestCore

/// The table of `docs/reference/partition-states.md`: each event in each state, as the machine answers.
enum PartitionTable {
    private typealias Step = (inout AssignedPartitions) -> AssignedPartitions.Actions
    private typealias Fixture = PartitionFixture

    private static let place = PartitionFixture.place
    private static let damage = ReadFault(reason: "damage", remedy: "")
    private static let known = Watermarks(low: 10, high: 20)

    /// The table's lines in Markdown.
    static var lines: [String] {
        let head = "| event | " + states.map { $0.name }.joined(separator: " | ") + " |"
        let rule = "|---" + String(repeating: "|---", count: states.count) + "|"
        return [head, rule]
            + events.map { event in
                "| \(event.name) | " + states.map { cell(event.step, in: $0.steps) }.joined(separator: " | ") + " |"
            }
    }

    // MARK: States

    private static var states: [(name: String, steps: [Step])] {
        [
            ("not assigned", []),
            ("reading", [assign(last: nil)]),
            ("verifying: to compare", [assign(last: 9)]),
            ("verifying: in doubt", [assign(last: nil), event(.connectionLost)]),
            ("verifying: going back", [assign(last: nil), event(.seekRefused(isRetriable: true))]),
            ("paused for the outbox", [assign(last: nil), pause(.outbox), event(.clientChanged(isPaused: true))]),
            ("paused for the store", [assign(last: nil), pause(.store)]),
            (
                "paused for decoding",
                [assign(last: nil), event(.pauseBegan(.decoding)), event(.clientChanged(isPaused: true))]
            ),
            ("out of range", [assign(last: 9), event(.offsetOutOfRange)]),
            ("missing", [assign(last: nil), event(.missing(Fixture.fault))]),
            ("halted", [assign(last: nil), event(.damaged(at: 0, damage)), event(.clientChanged(isPaused: true))]),
        ]
    }

    // MARK: Events

    private static var events: [(name: String, step: Step)] {
        [
            ("assigned, the store has a last record", assign(last: 9)),
            ("assigned, the store does not know it", assign(last: nil)),
            ("revoked, lost", { $0.revoke(place) }),
            ("the next record", { receive(10, 10, &$0) }),
            ("the store's last record", { receive(9, 9, &$0) }),
            ("another record in its place", { receive(9, 99, &$0) }),
            ("end of partition", event(.endReached(10))),
            ("end of partition before the position", event(.endReached(9))),
            ("connection lost, topic gone", event(.connectionLost)),
            ("offset out of range", event(.offsetOutOfRange)),
            ("range known: the position is there", event(.rangeKnown(known))),
            ("range known: the last record is there", event(.rangeKnown(Watermarks(low: 9, high: 20)))),
            ("range known: the position is gone", event(.rangeKnown(Watermarks(low: 12, high: 20)))),
            ("records damaged", event(.damaged(at: 10, damage))),
            ("topic missing, or not allowed", { $0.lose(place, Fixture.fault) }),
            ("topic found", event(.found)),
            ("outbox full", pause(.outbox)),
            ("outbox drained", goOn(.outbox)),
            ("dead letters full", pause(.deadLetters)),
            ("dead letters drained", goOn(.deadLetters)),
            ("store failed", pause(.store)),
            ("store back", goOn(.store)),
            ("a record cannot be decoded for now", event(.pauseBegan(.decoding))),
            ("decoding is tried again", event(.pauseEnded(.decoding))),
            ("store's position read", event(.positionRead(Fixture.position(10, last: 9)))),
            ("seek done", event(.seekDone)),
            ("seek refused for now", event(.seekRefused(isRetriable: true))),
            ("seek refused permanently", event(.seekRefused(isRetriable: false))),
            ("client paused", event(.clientChanged(isPaused: true))),
            ("client resumed", event(.clientChanged(isPaused: false))),
            ("position saved", event(.saved(12))),
            ("offset committed", event(.offsetCommitted(10))),
            ("clock: behind and silent for 3 s", { silence([0, 3], &$0) }),
            ("clock: behind and silent for 6 s", { silence([0, 6], &$0) }),
        ]
    }

    private static func event(_ event: PartitionEvent) -> Step { { $0.handle(event, place) } }

    private static func assign(last: Int?) -> Step {
        { partitions in
            var actions: AssignedPartitions.Actions = []
            _ = partitions.assign(place, at: last.map { Fixture.position(10, last: $0) }, actions: &actions)
            return actions
        }
    }

    private static func pause(_ reason: PauseReasons) -> Step {
        { partitions in
            partitions.pause(for: reason)
            return []
        }
    }

    private static func goOn(_ reason: PauseReasons) -> Step {
        { partitions in
            partitions.goOn(without: reason)
            return []
        }
    }

    private static func receive(
        _ offset: Int64, _ payload: Int, _ partitions: inout AssignedPartitions
    ) -> AssignedPartitions.Actions {
        var actions: AssignedPartitions.Actions = []
        _ = partitions.receive(
            place, offset: offset, fingerprint: Fixture.fingerprint(payload), actions: &actions)
        return actions
    }

    private static func silence(
        _ times: [Double], _ partitions: inout AssignedPartitions
    ) -> AssignedPartitions.Actions {
        var actions: AssignedPartitions.Actions = []
        for time in times {
            for _ in 0..<FetchWatch.leastPolls { partitions.hear([], isFull: false) }
            actions += partitions.handle(.clock(time, end: 30), place)
        }
        return actions
    }

    // MARK: Cells

    /// The next state where it is another one, and the actions.
    private static func cell(_ event: Step, in steps: [Step]) -> String {
        var partitions = AssignedPartitions(topics: ["t"])
        for step in steps { _ = step(&partitions) }
        let before = partitions
        let actions = event(&partitions).map { $0.action }
        let due = (partitions[place]?.due ?? []).filter { !(before[place]?.due ?? []).contains($0) }
        let next = name(partitions[place])
        let verdict = applied(before, partitions) ? ["applied"] : []
        let words = verdict + (actions + due).map(word)
        let state = next == name(before[place]) ? [] : ["**\(next)**"]
        let parts = state + (words.isEmpty ? [] : [words.joined(separator: ", ")])
        return parts.isEmpty ? "–" : parts.joined(separator: ": ")
    }

    private static func applied(_ before: AssignedPartitions, _ after: AssignedPartitions) -> Bool {
        guard let old = before[place], let new = after[place], new.progress.next == 11 else { return false }
        return old.progress.next != 11
    }

    private static func name(_ state: PartitionState?) -> String {
        guard let state else { return "not assigned" }
        switch state.condition {
        case .reading: return "reading"
        case .verifying: return "verifying"
        case .paused: return "paused"
        case .outOfRange: return "out of range"
        case .missing: return "missing"
        case .halted: return "halted"
        }
    }

    private static func word(_ action: PartitionAction) -> String {
        switch action {
        case .report(.halted): "report the halt"
        case .report(.waiting): "report the wait"
        case .report(.released): "report the end"
        case .report(.silent): "report the silence"
        case .report(.heard): "report the end of the silence"
        case .pause: "pause"
        case .resume: "resume"
        case .compareLastRecord: "compare"
        case .refetch: "refetch"
        case .seek: "seek"
        case .askRange: "ask the range"
        case .jump: "jump"
        }
    }
}

/// Decides when the worker of each partition starts and stops. The group assigns a partition to this process, and takes it
/// back. A worker that fails rests, and starts again.
///
/// Times are in seconds of one monotonic clock.
package struct PartitionSupervision: Sendable {
    /// The steps that the supervisor carries out.
    package enum Action: Equatable, Sendable {
        /// Opens the partition's store and reads the partition.
        case start(Int32)
        /// Saves what is open and closes the store.
        case stop(Int32)
    }

    private enum Phase: Equatable {
        case opening
        case running(since: Double)
        case stopping
        case resting(until: Double)
    }

    private struct State {
        var phase: Phase
        /// Whether the group gives the partition to this process.
        var isAssigned = true
        var backoff = Backoff(firstSeconds: 0.5, maximumSeconds: 30)
        /// Why the last worker ended, until another has run for a while.
        var failure: String?
    }

    /// How long a worker runs before its partition's former failure is over.
    private static let soundSeconds = 5.0

    private var states: [Int32: State] = [:]

    package init() {}

    /// The partitions that have a worker, or wait for one.
    package var partitions: [Int32] { states.keys.sorted() }

    /// Why workers ended that wait to start again, by partition.
    package var failures: [Int32: String] { states.compactMapValues(\.failure) }

    /// Notes partitions that the group gives to this process.
    package mutating func assigned(_ partitions: [Int32]) -> [Action] {
        partitions.compactMap { partition in
            guard let state = states[partition] else {
                states[partition] = State(phase: .opening)
                return .start(partition)
            }
            states[partition]?.isAssigned = true
            guard case .resting = state.phase else { return nil }
            states[partition]?.phase = .opening
            return .start(partition)
        }
    }

    /// Notes partitions that the group takes back; the caller waits for the end of their workers.
    package mutating func revoked(_ partitions: [Int32]) -> [Action] {
        partitions.compactMap { partition in
            guard let state = states[partition] else { return nil }
            states[partition]?.isAssigned = false
            switch state.phase {
            case .opening, .running:
                states[partition]?.phase = .stopping
                return .stop(partition)
            case .resting:
                states[partition] = nil
                return nil
            case .stopping: return nil
            }
        }
    }

    /// Notes that a partition's worker has opened its store. To open it may take long, and fail then.
    package mutating func opened(_ partition: Int32, at time: Double) {
        if states[partition]?.phase == .opening { states[partition]?.phase = .running(since: time) }
    }

    /// Whether the partition's worker starts again when it has ended.
    package func startsAgain(_ partition: Int32) -> Bool { states[partition]?.isAssigned ?? false }

    /// Notes the end of a partition's worker.
    ///
    /// - Parameters:
    ///   - failure: why it ended by itself; nil where it was asked to.
    ///   - jitter: a random number from 0 to 1.
    package mutating func ended(_ partition: Int32, failure: String?, at time: Double, jitter: Double) -> [Action] {
        guard var state = states[partition] else { return [] }
        defer { states[partition] = state.isAssigned ? state : nil }
        if case .running(let since) = state.phase, time - since >= Self.soundSeconds { state.backoff.succeeded() }
        state.failure = failure
        guard state.isAssigned else { return [] }
        if state.phase == .stopping, failure == nil {
            // The group has given the partition back meanwhile.
            state.phase = .opening
            return [.start(partition)]
        }
        state.phase = .resting(until: time + state.backoff.failed(jitter: jitter))
        return []
    }

    /// Lets time pass.
    package mutating func tick(at time: Double) -> [Action] {
        var actions: [Action] = []
        for (partition, state) in states.sorted(by: { $0.key < $1.key }) {
            switch state.phase {
            case .resting(let end) where time >= end:
                states[partition]?.phase = .opening
                actions.append(.start(partition))
            case .running(let since) where time - since >= Self.soundSeconds: states[partition]?.failure = nil
            case .opening, .resting, .running, .stopping: break
            }
        }
        return actions
    }
}

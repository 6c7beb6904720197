import Synchronization

/// The topics that the broker was last seen to have, carried from the probe's thread to the worker's.
final class TopicDirectory: Sendable {
    private struct State {
        var topics: [String: Set<Int32>] = [:]
        var generation = 0
    }

    private let state = Mutex(State())

    /// Notes the partitions of every topic there is.
    func note(_ topics: [String: Set<Int32>]) {
        state.withLock { state in
            if state.generation > 0, state.topics == topics { return }
            state.topics = topics
            state.generation += 1
        }
    }

    /// Returns the topics where they are others than at that generation, and the generation that they are of.
    func news(after generation: Int) -> (topics: [String: Set<Int32>], generation: Int)? {
        state.withLock { $0.generation > generation ? ($0.topics, $0.generation) : nil }
    }
}

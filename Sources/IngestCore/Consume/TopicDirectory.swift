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

/// Decides which of the topics that are read have gone, and which have come back, from what the broker has.
struct TopicWatch: Sendable {
    /// The generation of the news that were taken last.
    private(set) var generation = 0
    private var gone: Set<String> = []

    /// Takes the partitions of every topic that the broker has.
    ///
    /// - Parameter topics: the topics that are read now.
    /// - Returns: the topics that are gone since the last news, and those of the gone ones that are there again; in order.
    mutating func update(
        _ news: (topics: [String: Set<Int32>], generation: Int), reading topics: Set<String>
    ) -> (gone: [String], back: [String]) {
        generation = news.generation
        let absent = gone.union(topics).filter { news.topics[$0]?.isEmpty ?? true }
        defer { gone = absent }
        return (absent.subtracting(gone).sorted(), gone.subtracting(absent).sorted())
    }
}

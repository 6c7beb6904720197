import KafkaClient
import Synchronization

/// Carries the broker's topics, and the ends of the partitions that the worker reads. The probe's thread writes both;
/// the worker's thread reads them.
package final class TopicDirectory: Sendable {
    private struct State {
        var topics: [String: Set<Int32>] = [:]
        var generation = 0
        var watched: Set<TopicPartition> = []
        var ends: [TopicPartition: Int64] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Notes the partitions of every topic there is.
    func note(_ topics: [String: Set<Int32>]) {
        state.withLock { state in
            if state.generation > 0, state.topics == topics { return }
            state.topics = topics
            state.generation += 1
        }
    }

    /// Returns the topics where they are others than at that generation, and the generation that they are of.
    package func news(after generation: Int) -> (topics: [String: Set<Int32>], generation: Int)? {
        state.withLock { $0.generation > generation ? ($0.topics, $0.generation) : nil }
    }

    /// The partitions whose ends are asked for.
    var watched: Set<TopicPartition> { state.withLock { $0.watched } }

    /// Says which partitions' ends to ask for.
    func watch(_ partitions: Set<TopicPartition>) { state.withLock { $0.watched = partitions } }

    /// The offsets that followed the last ones of the watched partitions a moment ago, where the broker has told them.
    var ends: [TopicPartition: Int64] { state.withLock { $0.ends } }

    /// Notes the ends that the broker told.
    func note(ends: [TopicPartition: Int64]) { state.withLock { $0.ends = ends } }
}

/// Decides from the broker's list which of a worker's topics are not there, and which have come back.
struct TopicWatch: Sendable {
    private let topics: [String]
    /// The generation of the news that were taken last.
    private(set) var generation = 0
    private var gone: Set<String> = []

    /// Watches topics.
    init(_ topics: [String]) { self.topics = topics }

    /// Tells whether a topic was not there at the last news.
    func isGone(_ topic: String) -> Bool { gone.contains(topic) }

    /// Notes the partitions of every topic that the broker has.
    ///
    /// - Returns: the topics that are gone since the last news, and the gone topics that are there again.
    mutating func update(_ news: (topics: [String: Set<Int32>], generation: Int)) -> (gone: [String], back: [String]) {
        generation = news.generation
        let absent = Set(topics.filter { news.topics[$0]?.isEmpty ?? true })
        defer { gone = absent }
        return (absent.subtracting(gone).sorted(), gone.subtracting(absent).sorted())
    }
}

import GraphCore
import IngestCore

/// A store whose changes a feed gives.
package struct FeedStore: Sendable {
    /// The partition whose store it is; nil where one store has all.
    let partition: Int32?
    let store: Store
    /// The identity of the store that is read: a rebuilt one may take its place.
    let identity: String
    let configuration: NotificationConfiguration
    let metrics: WorkerMetrics?
    /// One after the other: however many readers there are, the store's connections are left to others.
    let reads: RequestReads

    /// - Throws: `StoreError`.
    init(_ store: Store, _ configuration: NotificationConfiguration, metrics: WorkerMetrics?) throws {
        (partition, self.store, self.configuration, self.metrics) = (nil, store, configuration, metrics)
        reads = RequestReads(store, maximumCount: 1)
        identity = try store.identity()
    }

    /// The same store as one of several.
    init(_ other: FeedStore, ofPartition partition: Int32) {
        (self.partition, store, identity) = (partition, other.store, other.identity)
        (configuration, metrics, reads) = (other.configuration, other.metrics, other.reads)
    }

    /// Makes a reader of the changes that a request asks for.
    ///
    /// - Throws: `StoreError`, with a code `history.…` where the history does not have what came after a token.
    func reader(for request: FeedRequest, from start: FeedRequest.Start) async throws -> FeedReader {
        let identity = identity
        let first = try await reads.read { context in
            let epoch = try context.historyEpochs().current
            func token(_ number: Int64) -> HistoryToken {
                HistoryToken(store: identity, number: number, epoch: epoch)
            }
            switch start {
            case .oldest: return token(try context.purgedToken())
            case .latest: return token(try context.lastToken())
            case .number(let number): return token(try Self.checked(token(number), context))
            case .token(let asked): return token(try Self.checked(asked, context))
            }
        }
        var form = configuration
        if let granularity = request.granularity { form.granularity = granularity }
        return FeedReader(
            reads: reads, identity: identity,
            builder: NotificationBuilder(configuration: form, storeIdentity: identity, model: store.model),
            includesValues: form.values && form.granularity == .object, entities: request.entities,
            after: first.number, epoch: first.epoch)
    }

    /// Returns a token's number; throws where the history does not know what came after it.
    private static func checked(_ token: HistoryToken, _ context: ReadContext) throws -> Int64 {
        _ = try context.hasHistory(HistoryRequest(after: token))
        return token.number
    }
}

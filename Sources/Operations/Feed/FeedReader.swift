import GraphCore
import IngestCore

/// Is an event of the feed: a CloudEvent as JSON.
struct FeedEvent: Sendable, Equatable {
    let json: String
    /// The token that a reader has finished with this event; nil while its transaction goes on.
    let token: Int64?
    /// The number of the store among those that are read.
    var reader = 0
}

/// A part of the history that is read at a time.
struct FeedPage: Sendable {
    var events: [FeedEvent] = []
    /// Whether there was nothing more to read.
    var isAtEnd = false
    /// Whether the last transaction goes on, on the next page.
    var isOpen = false
}

/// Reads the history page by page, and makes events of it; remembers where it is.
///
/// Nothing is read ahead: a page is in memory while its events are written, and the next is read when they are taken.
struct FeedReader: Sendable {
    /// The changes of a page at most, however many a transaction has; fewer where each comes with its object's values.
    private var pageSize: Int { includesValues ? 500 : 5000 }

    private let reads: RequestReads
    /// The identity of the store that is read: a rebuilt one may take its place.
    private let identity: String
    private let builder: NotificationBuilder
    private let includesValues: Bool
    private let entities: Set<String>
    /// The last token that is finished.
    private(set) var finished: Int64
    /// The epoch of the history in which the token was finished.
    private(set) var epoch: Int64
    /// The transaction that is read in part, with its next change, and the number of its next part.
    private var open: (token: Int64, index: Int, part: Int)?

    init(
        reads: RequestReads, identity: String, builder: NotificationBuilder, includesValues: Bool,
        entities: Set<String>, after token: Int64, epoch: Int64
    ) {
        self.reads = reads
        self.identity = identity
        self.builder = builder
        self.includesValues = includesValues
        self.entities = entities
        finished = token
        self.epoch = epoch
    }

    /// Whether a transaction is read in part.
    var isOpen: Bool { open != nil }

    /// The token that is reached once the open transaction is finished.
    var reached: Int64 { open?.token ?? finished }

    /// Reads the next page: at most so many transactions.
    ///
    /// - Throws: `StoreError`, with code `history.expired` where what comes next was purged.
    mutating func next(limit: Int) async throws -> FeedPage {
        let start = self
        let (page, reader) = try await reads.read { context in
            var reader = start
            let page = try reader.read(context, limit: limit)
            return (page, reader)
        }
        self = reader
        return page
    }

    private mutating func read(_ context: ReadContext, limit: Int) throws -> FeedPage {
        try check(context)
        if let open { return try readRest(open, context) }
        let transactions = try context.history(after: finished, limit: limit, maximumChangeCount: pageSize)
        var page = FeedPage(isAtEnd: transactions.isEmpty)
        for transaction in transactions { try append(transaction, firstPart: 1, context, to: &page) }
        return page
    }

    private mutating func readRest(
        _ rest: (token: Int64, index: Int, part: Int), _ context: ReadContext
    ) throws -> FeedPage {
        var page = FeedPage()
        if let transaction = try context.transaction(rest.token, from: rest.index, limit: pageSize) {
            try append(transaction, firstPart: rest.part, context, to: &page)
        } else {
            // Purged meanwhile: the history says so itself.
            _ = try context.history(after: finished, limit: 1)
            open = nil
        }
        return page
    }

    /// Refuses to go on where a server has taken over that does not have what was read.
    private mutating func check(_ context: ReadContext) throws {
        let epochs = try context.historyEpochs(of: identity)
        try epochs.check(open?.token ?? finished, of: epoch)
        epoch = epochs.current
    }

    private mutating func append(
        _ transaction: HistoryTransaction, firstPart: Int, _ context: ReadContext, to page: inout FeedPage
    ) throws {
        let wanted = entities
        let notifications = try builder.notifications(
            for: transaction, firstPart: firstPart,
            values: { change in
                guard includesValues, change.kind != .delete else { return nil }
                return try context.objectJSON(entity: change.entity, identity: change.identity)
            }, isWanted: { wanted.isEmpty || wanted.contains($0.entity) })
        let values = notifications.compactMap(\.value)
        let isLast = transaction.nextIndex == nil
        for (index, value) in values.enumerated() {
            let isFinished = isLast && index == values.count - 1
            page.events.append(FeedEvent(json: value, token: isFinished ? transaction.token : nil))
        }
        page.isOpen = !isLast
        if let next = transaction.nextIndex {
            open = (transaction.token, next, firstPart + notifications.count)
        } else {
            open = nil
            finished = transaction.token
        }
    }
}

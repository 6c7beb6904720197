/// A request for a part of the history: after which token, which transactions, which of their changes, and how many at
/// once.
///
/// For example, the deletions of messages that the worker saved after a token:
///
///     var request = HistoryRequest(after: token)
///     request.entity = "Message"
///     request.kinds = [.delete]
///     let page = try store.history(request)
///
/// The changes come in the order of the saves, never by the clock. ``limit`` bounds a page, and
/// ``HistoryResult/next`` is the request of the next page.
public struct HistoryRequest: Sendable {
    /// The token to begin after; nil begins with the oldest transaction that the history still holds.
    public var after: HistoryToken?
    /// The earliest time of a transaction, inclusive, in microseconds since 1970 UTC.
    public var since: Int64?
    /// The end of the times of transactions, exclusive, in microseconds since 1970 UTC.
    public var before: Int64?
    /// The author of the transactions.
    public var author: String?
    /// The name of the context that saved.
    public var context: String?
    /// The name of the changed objects' entity.
    public var entity: String?
    /// The identity of the changed object, in stored form; needs ``entity``.
    public var identity: Value?
    /// The kinds of changes; nil for all kinds.
    public var kinds: Set<ChangeKind>?
    /// The maximum number of changes on a page; of transactions for a request without changes.
    public var limit = 1000
    /// The first change of a page within the history; kept by ``HistoryResult/next``.
    package var firstChange: Int64 = 0

    /// Makes a request for everything after a token.
    public init(after token: HistoryToken? = nil) { after = token }

    /// The limit as a page has it: at least one, and no more than a statement can count.
    var pageLimit: Int { min(max(1, limit), Int(Int32.max)) }
}

/// A page of the history.
public struct HistoryResult: Sendable {
    /// The transactions, each with the changes that are on this page.
    public let transactions: [HistoryTransaction]
    /// The token to remember after this page. If the page ends within a transaction, it is the token before that
    /// transaction.
    public let token: HistoryToken
    /// The request of the next page, or nil for the last page.
    public let next: HistoryRequest?

    /// The changes of all transactions on this page, in their order.
    public var changes: [HistoryChange] { transactions.flatMap(\.changes) }
    /// The number of changes on this page.
    public var count: Int { transactions.reduce(0) { $0 + $1.changes.count } }
    /// Tells whether this page has a requested change.
    public var hasChanges: Bool { !transactions.isEmpty }

    /// The objects that changed, in the order of their first change on the page.
    public var objects: [ObjectReference] {
        var known: Set<ObjectReference> = []
        return changes.map(\.object).filter { known.insert($0).inserted }
    }
}

/// A page of the history's transactions without their changes.
public struct HistoryTransactions: Sendable {
    /// A transaction and its number of changes.
    public struct Head: Sendable {
        /// The transaction's number.
        public let token: Int64
        /// The time of the save, in microseconds since 1970 UTC.
        public let time: Int64
        /// The author of the save.
        public let author: String
        /// The name of the context that saved, or nil for a context without a name.
        public let context: String?
        /// The place of the first event, or nil.
        public let source: String?
        /// The trace context of the first event's record: a W3C `traceparent`, or nil.
        public let trace: String?
        /// The number of the transaction's changes.
        public let changeCount: Int
    }

    /// The transactions with a requested change, in their order.
    public let transactions: [Head]
    /// The token to remember after this page.
    public let token: HistoryToken
    /// The request of the next page, or nil for the last page.
    public let next: HistoryRequest?
}

/// The object of a change.
public struct ObjectReference: Sendable, Hashable {
    /// The name of the object's entity.
    public let entity: String
    /// The object's primary key in its table.
    public let pk: Int64
    /// The object's identity in stored form.
    public let identity: Value

    /// Makes a reference.
    public init(entity: String, pk: Int64, identity: Value) {
        self.entity = entity
        self.pk = pk
        self.identity = identity
    }
}

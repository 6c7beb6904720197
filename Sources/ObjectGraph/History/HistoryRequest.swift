/// What to read of the history: after which token, which transactions, which of their changes, and how many at once.
///
/// For example, the deletions of messages that the worker saved after a token:
///
///     var request = HistoryRequest(after: token)
///     request.entity = "Message"
///     request.kinds = [.delete]
///     let page = try store.history(request)
///
/// Everything comes in the order of the saves, never by the clock. A page is bounded by ``limit``;
/// ``HistoryResult/next`` is the request of the next page.
public struct HistoryRequest: Sendable {
    /// Where to begin: what comes after it is read. Nil begins with what the history still holds.
    public var after: HistoryToken?
    /// The least time of a transaction, in microseconds since 1970 UTC; that time itself counts.
    public var since: Int64?
    /// The time of a transaction has to be less than this, in microseconds since 1970 UTC.
    public var before: Int64?
    /// Who saved.
    public var author: String?
    /// The name of the context that saved.
    public var context: String?
    /// The name of the changed objects' entity.
    public var entity: String?
    /// The identity of the changed object, in stored form; needs ``entity``.
    public var identity: Value?
    /// What happened to the objects; all kinds where it is nil.
    public var kinds: Set<ChangeKind>?
    /// The greatest number of changes of a page; of transactions where only those are asked for.
    public var limit = 1000
    /// The first change of a page within the history; kept by ``HistoryResult/next``.
    var firstChange: Int64 = 0

    /// Makes a request for everything after a token.
    public init(after token: HistoryToken? = nil) { after = token }

    /// The limit as a page has it: at least one, and no more than a statement can count.
    var pageLimit: Int { min(max(1, limit), Int(Int32.max)) }

    /// Tells whether some changes of a transaction may not be asked for.
    var filtersChanges: Bool { entity != nil || identity != nil || kinds != nil }
}

/// A page of the history.
public struct HistoryResult: Sendable {
    /// The transactions, each with those of its changes that are on this page.
    public let transactions: [HistoryTransaction]
    /// The token that is reached once this page is worked off: where there is a next page, the one before the
    /// transaction that is not finished.
    public let token: HistoryToken
    /// The request of the next page, or nil where this is the last.
    public let next: HistoryRequest?

    /// The changes of all transactions on this page, in their order.
    public var changes: [HistoryChange] { transactions.flatMap(\.changes) }
    /// The number of changes on this page.
    public var count: Int { transactions.reduce(0) { $0 + $1.changes.count } }
    /// Tells whether there is anything of what was asked for on this page.
    public var hasChanges: Bool { !transactions.isEmpty }

    /// The objects that changed, in the order of their first change on the page.
    public var objects: [ObjectReference] {
        var known: Set<ObjectReference> = []
        return changes.map(\.object).filter { known.insert($0).inserted }
    }
}

/// A page of the history's transactions without their changes.
public struct HistoryTransactions: Sendable {
    /// A transaction, and how many changes it has.
    public struct Head: Sendable {
        /// The transaction's number.
        public let token: Int64
        /// When it was saved, in microseconds since 1970 UTC.
        public let time: Int64
        /// Who saved.
        public let author: String
        /// The name of the context that saved, or nil where it has none.
        public let context: String?
        /// Where the events came from, or nil.
        public let source: String?
        /// The number of the transaction's changes.
        public let changeCount: Int
    }

    /// The transactions that have a change that was asked for, in their order.
    public let transactions: [Head]
    /// The token that is reached once this page is worked off.
    public let token: HistoryToken
    /// The request of the next page, or nil where this is the last.
    public let next: HistoryRequest?
}

/// Which object a change is of.
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

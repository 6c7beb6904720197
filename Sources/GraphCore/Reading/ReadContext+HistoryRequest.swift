extension ReadContext {
    /// Returns a page of the history.
    ///
    /// - Throws: ``StoreError``: `history.expired` where transactions after the token were purged,
    ///   `history.foreign_token`, `history.forked`, `history.token_ahead`; `predicate.unknown_entity` is a ``FetchPredicateError``.
    public func history(_ request: HistoryRequest) throws -> HistoryResult {
        let selection = try selection(request)
        let limit = request.pageLimit
        let found = try changes(selection, limit: limit + 1)
        var token = try historyToken()
        var next: HistoryRequest?
        if found.count > limit, let rest = found.last {
            // The transaction of the first change that is not on the page is not finished.
            token = HistoryToken(
                store: token.store, number: max(selection.after ?? 0, rest.change.token - 1), epoch: token.epoch)
            next = request
            next?.after = token
            next?.firstChange = rest.id
        }
        return HistoryResult(transactions: try grouped(found.prefix(limit).map(\.change)), token: token, next: next)
    }

    /// Tells whether the history has anything that a request asks for.
    ///
    /// - Throws: as ``history(_:)``.
    public func hasHistory(_ request: HistoryRequest = HistoryRequest()) throws -> Bool {
        try !session.transactions(try selection(request), limit: 1).isEmpty
    }

    /// Returns the number of changes that a request asks for, whatever its limit.
    ///
    /// - Throws: as ``history(_:)``.
    public func historyCount(_ request: HistoryRequest = HistoryRequest()) throws -> Int {
        let selection = try selection(request)
        let count = try session.changeCount(selection)
        if selection.keys != nil { return count + (try expanded(selection, before: .max).count) }
        return count + (try session.rangeChangeCount(selection))
    }

    /// Returns a page of the transactions that have a change that a request asks for; the limit counts transactions.
    ///
    /// - Throws: as ``history(_:)``.
    public func historyTransactions(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryTransactions {
        let limit = request.pageLimit
        let found = try session.transactions(try selection(request), limit: limit + 1)
        let page = found.prefix(limit).map {
            HistoryTransactions.Head(
                token: $0.token, time: $0.time, author: $0.author, context: $0.context, source: $0.source,
                trace: $0.trace,
                changeCount: $0.changeCount)
        }
        var token = try historyToken()
        var next: HistoryRequest?
        if found.count > limit, let last = page.last {
            token = HistoryToken(store: token.store, number: last.token, epoch: token.epoch)
            next = request
            next?.after = token
        }
        return HistoryTransactions(transactions: page, token: token, next: next)
    }

    // MARK: Checking

    /// Checks a request, and resolves its names.
    private func selection(_ request: HistoryRequest) throws -> HistorySelection {
        let entity = try entity(request)
        return HistorySelection(
            after: try start(request), since: request.since, before: request.before, author: request.author,
            context: request.context, ids: request.firstChange..<Int64.max, kinds: request.kinds,
            entities: entity.map(model.kindNames) ?? [],
            keys: try request.identity.flatMap { identity in
                try entity.map { try session.primaryKeys($0, identity: identity) }
            })
    }

    private func entity(_ request: HistoryRequest) throws(FetchPredicateError) -> Entity? {
        guard let name = request.entity else {
            if request.identity == nil { return nil }
            throw FetchPredicateError(
                .unknownEntity, "An object is named without its entity", at: nil, remedy: "Name the object's entity too"
            )
        }
        if let entity = model.entity(matching: name) { return entity }
        throw FetchPredicateError(
            .unknownEntity, "The model has no entity '\(name)'", at: nil,
            remedy: ClosestName.remedy(name, among: model.entities.map(\.name)))
    }

    /// Returns the number of the token that the request begins after.
    private func start(_ request: HistoryRequest) throws -> Int64 {
        guard let token = request.after else { return try purgedToken() }
        try historyEpochs(of: token.store).check(token.number, of: token.epoch)
        try checkNotExpired(token.number)
        let last = try lastToken()
        if token.number > last {
            throw StoreError(
                .historyTokenAhead, "The history ends at token \(last), token \(token.number) is ahead of it",
                remedy: "An older copy of the store was put there: read it again, then continue from the token it has")
        }
        return token.number
    }

    // MARK: Changes in their order

    private func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange] {
        let single = try session.changes(selection, limit: limit)
        let end = single.count < limit ? Int64.max : single.last?.id ?? .max
        let expanded = try expanded(selection, before: end, limit: limit)
        if expanded.isEmpty { return single }
        return Array(ordered(single + expanded).prefix(limit))
    }

    private func grouped(_ changes: [HistoryChange]) throws -> [HistoryTransaction] {
        var transactions: [HistoryTransaction] = []
        let epochs = try historyEpochs()
        var rest = changes[...]
        while let first = rest.first {
            let part = rest.prefix { $0.token == first.token }
            rest = rest.dropFirst(part.count)
            guard let stored = try stored(first.token) else { continue }
            transactions.append(
                HistoryTransaction(
                    token: stored.token, time: stored.time, author: stored.author, context: stored.context,
                    source: stored.source, trace: stored.trace, changes: Array(part),
                    epoch: epochs.epoch(of: stored.token)))
        }
        return transactions
    }
}

extension StoreError {
    /// The error of a token that is of another store.
    static let foreignToken = StoreError(
        .historyForeignToken, "The history token is of another store",
        remedy: "Read this store itself, then go on from the token that it has")
}

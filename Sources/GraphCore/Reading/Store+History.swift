extension Store {
    /// Returns a page of the history; see ``ReadContext/history(_:)``.
    ///
    ///     for change in try store.history(HistoryRequest(after: token)).changes { … }
    ///
    /// - Throws: ``StoreError``, ``FetchPredicateError``.
    public func history(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryResult {
        try read { try $0.history(request) }
    }

    /// Returns the number of requested changes, without regard to the request's limit.
    ///
    /// - Throws: ``StoreError``, ``FetchPredicateError``.
    public func historyCount(_ request: HistoryRequest = HistoryRequest()) throws -> Int {
        try read { try $0.historyCount(request) }
    }
}

extension Store {
    /// Returns a page of the history; see ``ReadContext/history(_:)``.
    ///
    ///     for change in try store.history(HistoryRequest(after: token)).changes { … }
    ///
    /// - Throws: ``StoreError``, ``FetchPredicateError``.
    public func history(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryResult {
        try read { try $0.history(request) }
    }

    /// Returns the number of changes that a request asks for, whatever its limit.
    ///
    /// - Throws: ``StoreError``, ``FetchPredicateError``.
    public func historyCount(_ request: HistoryRequest = HistoryRequest()) throws -> Int {
        try read { try $0.historyCount(request) }
    }
}

import GraphCore

/// How a sequence learns of writers' commits.
public struct ObservationOptions: Sendable {
    /// The maximum delay after a commit of another process; the sequence notices commits of this process at once.
    public var pollInterval: Duration = .milliseconds(250)
    /// The minimum time between two elements of fetched results, so that many commits make few elements.
    public var minimumInterval: Duration = .milliseconds(20)

    /// Makes options with their defaults.
    public init() {}
}

/// The changes after a token, as this process or another commits them. The sequence ends only with its task.
///
///     for try await page in store.changes(HistoryRequest(after: token)) {
///         for transaction in page.transactions { … }
///         save(page.token)
///     }
///
/// Each element is a page of the history, with at most the request's limit of changes. The sequence reads a page only
/// when the caller asks for it, so a slow reader costs no memory. If a purge removes unread history, the sequence throws
/// `history.expired`.
public struct HistorySequence: AsyncSequence, Sendable {
    /// A page with at least one change.
    public typealias Element = HistoryResult

    package let store: Store
    package let request: HistoryRequest
    package let options: ObservationOptions

    /// Makes the iterator, which begins after the request's token, or with the oldest transaction in the history.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(store: store, request: request, options: options)
    }

    /// Reads one page after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let store: Store
        private var request: HistoryRequest
        private let options: ObservationOptions

        init(store: Store, request: HistoryRequest, options: ObservationOptions) {
            self.store = store
            self.request = request
            self.options = options
        }

        /// Waits for the next page and returns it, or nil once the task is cancelled.
        ///
        /// - Throws: ``StoreError``: `history.expired` if a purge removed unread history.
        public mutating func next() async throws -> HistoryResult? {
            while !Task.isCancelled {
                let generation = store.signal.generation
                let current = request
                guard let page = try await store.reading({ try $0.history(current) }) else { return nil }
                if let next = page.next {
                    request = next
                } else {
                    request.after = page.token
                    request.firstChange = 0
                }
                if page.hasChanges { return page }
                await store.signal.wait(after: generation, timeout: options.pollInterval)
            }
            return nil
        }
    }
}

extension Store {
    /// Returns the present and future changes that a request asks for.
    ///
    /// - Parameters:
    ///   - request: the changes.
    ///   - options: how often to look for other processes' commits.
    public func changes(
        _ request: HistoryRequest = HistoryRequest(), options: ObservationOptions = ObservationOptions()
    ) -> HistorySequence {
        HistorySequence(store: self, request: request, options: options)
    }
}

import GRDB

/// How a sequence learns of what writers commit.
public struct ObservationOptions: Sendable {
    /// How long a commit of another process may go unnoticed; one of this process is noticed at once.
    public var pollInterval: Duration = .milliseconds(250)
    /// The least time between two elements of fetched results, so that a stream of commits becomes few of them.
    public var minimumInterval: Duration = .milliseconds(20)

    /// Makes options with their defaults.
    public init() {}
}

/// The changes after a token, as they are committed by this process or another: it ends only with its task.
///
///     for try await page in store.changes(HistoryRequest(after: token)) {
///         for transaction in page.transactions { … }
///         save(page.token)
///     }
///
/// Each element is a page of the history, bounded by the request's limit, and read when it is asked for: a slow reader
/// holds nothing in memory. If the history is purged under it, it throws `history.expired`.
public struct HistorySequence: AsyncSequence, Sendable {
    /// A page that is not empty.
    public typealias Element = HistoryResult

    let store: Store
    let request: HistoryRequest
    let options: ObservationOptions

    /// Makes the iterator, which begins after the request's token; without one, with what the history still holds.
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

        /// Returns the next page, waiting for it; nil once the task is cancelled.
        ///
        /// - Throws: ``StoreError``: `history.expired` where the history was purged under the reader.
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
    /// Returns the changes that a request asks for, those to come included.
    ///
    /// - Parameters:
    ///   - request: which changes.
    ///   - options: how often to look for other processes' commits.
    public func changes(
        _ request: HistoryRequest = HistoryRequest(), options: ObservationOptions = ObservationOptions()
    ) -> HistorySequence {
        HistorySequence(store: self, request: request, options: options)
    }

    /// As ``read(_:)``, without blocking the task's thread; nil once the task is cancelled.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (ReadContext) throws -> Result
    ) async throws -> Result? {
        do {
            return try await database.read { [model] in try body(ReadContext(database: $0, model: model)) }
        } catch is CancellationError {
            return nil
        } catch let error as DatabaseError {
            throw StoreError(error, action: "read the store")
        }
    }
}

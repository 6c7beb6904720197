import GraphCore
import IngestCore

/// Reads the changes of one store, or those of several in turn: each store's in its own order.
struct FeedReaders: Sendable {
    private let stores: [FeedStore]
    private var readers: [FeedReader]
    /// The positions in stores that are not here: another process has them.
    private let others: StorePositions
    /// The store that has the first turn: any, so that a busy one cannot keep the others from a reader.
    private var turn: Int
    /// The last tokens of the stores whose events were taken.
    private var passed: [Int64]

    /// Makes readers that begin where a request says.
    ///
    /// - Throws: ``FeedRefusal``, `StoreError`.
    init(_ stores: [FeedStore], _ request: FeedRequest) async throws {
        self.stores = stores
        var others = request.positions ?? StorePositions()
        readers = []
        for store in stores {
            let start = try request.start(of: store.partition)
            do {
                readers.append(try await store.reader(for: request, from: start))
            } catch let error as StoreError {
                throw FeedRefusal(error, partition: store.partition)
            }
            if let partition = store.partition { others[partition] = nil }
        }
        self.others = others
        turn = stores.isEmpty ? 0 : Int.random(in: stores.indices)
        passed = readers.map(\.finished)
    }

    /// The partitions whose stores are read.
    var partitions: [Int32?] { stores.map(\.partition) }

    /// The numbers of the stores' changes; one that is noted before a read tells what came after it.
    var generations: [UInt64] { stores.map(\.store.signal.generation) }

    /// Reads the next page: of each store its share of so many transactions.
    ///
    /// - Throws: ``FeedRefusal``, as where what comes next was purged; `StoreError`.
    mutating func next(limit: Int) async throws -> FeedPage {
        passed = readers.map(\.finished)
        if let open = readers.firstIndex(where: \.isOpen) { return try await read(open, limit: limit) }
        var page = FeedPage(isAtEnd: true)
        for index in readers.indices.map({ (turn + $0) % readers.count }) {
            let part = try await read(index, limit: max(1, limit / readers.count))
            page.events += part.events
            (page.isAtEnd, page.isOpen) = (page.isAtEnd && part.isAtEnd, part.isOpen)
            if page.isOpen || page.events.count >= limit, readers.count > 1 {
                // The rest of the stores come first on the next page.
                (turn, page.isAtEnd) = (index + 1, false)
                break
            }
        }
        return page
    }

    private mutating func read(_ index: Int, limit: Int) async throws -> FeedPage {
        do {
            var page = try await readers[index].next(limit: limit)
            for event in page.events.indices { page.events[event].reader = index }
            return page
        } catch let error as StoreError {
            throw FeedRefusal(error, partition: stores[index].partition)
        }
    }

    /// Waits for a change of any store, for a time, or until the task is cancelled.
    func wait(after generations: [UInt64], timeout: Duration) async {
        if stores.count == 1 { return await stores[0].store.signal.wait(after: generations[0], timeout: timeout) }
        await withTaskGroup { group in
            for (store, generation) in zip(stores, generations) {
                group.addTask { await store.store.signal.wait(after: generation, timeout: timeout) }
            }
            if stores.isEmpty { group.addTask { try? await Task.sleep(for: timeout) } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Counts the events of a page.
    func note(_ page: FeedPage) {
        for event in page.events { stores[event.reader].metrics?.feedEvents.increment(by: 1) }
    }

    // MARK: Positions

    /// The position behind all that is finished.
    var finished: String { text { readers[$0].finished } }

    /// The position behind all that is read, once an open transaction is finished.
    var reached: String { text { readers[$0].reached } }

    /// The positions as the events of a page pass them, from the end of the page before.
    mutating func positions(of page: FeedPage) -> [String?] {
        page.events.map { event in
            guard let token = event.token else { return nil }
            passed[event.reader] = token
            return text { passed[$0] }
        }
    }

    private func text(_ number: (Int) -> Int64) -> String {
        func token(_ index: Int) -> String {
            "\(HistoryToken(store: stores[index].identity, number: number(index), epoch: readers[index].epoch))"
        }
        if stores.count == 1, stores[0].partition == nil { return token(0) }
        var positions = others
        for (index, store) in stores.enumerated() { if let own = store.partition { positions[own] = token(index) } }
        return positions.description
    }
}

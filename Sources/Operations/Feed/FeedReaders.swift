import GraphCore
import IngestCore

/// Reads the changes of one store, or those of several in turn: each store's in its own order.
struct FeedReaders: Sendable {
    private let stores: [FeedStore]
    private var readers: [FeedReader]
    /// The positions in stores that are not here: another process has them.
    private let others: StorePositions
    /// The store that has the first turn.
    private var turn = 0

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
    }

    /// The partitions whose stores are read.
    var partitions: [Int32?] { stores.map(\.partition) }

    /// The numbers of the stores' changes; one that is noted before a read tells what came after it.
    var generations: [UInt64] { stores.map(\.store.signal.generation) }

    /// Reads the next page, at most so many transactions of one store.
    ///
    /// - Throws: ``FeedRefusal``, as where what comes next was purged; `StoreError`.
    mutating func next(limit: Int) async throws -> FeedPage {
        if let open = readers.firstIndex(where: \.isOpen) { return try await read(open, limit: limit) }
        for step in readers.indices {
            let index = (turn + step) % readers.count
            let page = try await read(index, limit: limit)
            if page.isAtEnd { continue }
            turn = index + 1
            return page
        }
        return FeedPage(isAtEnd: true)
    }

    private mutating func read(_ index: Int, limit: Int) async throws -> FeedPage {
        do {
            var page = try await readers[index].next(limit: limit)
            page.reader = index
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
        if stores.indices.contains(page.reader) {
            stores[page.reader].metrics?.feedEvents.increment(by: page.events.count)
        }
    }

    // MARK: Positions

    /// The position behind all that is finished.
    var finished: String { text { readers[$0].finished } }

    /// The position behind all that is read, once an open transaction is finished.
    var reached: String { text { readers[$0].reached } }

    /// The position behind a token of one store, and what is finished of the others.
    func text(finishing token: Int64, of reader: Int) -> String {
        text { $0 == reader ? token : readers[$0].finished }
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

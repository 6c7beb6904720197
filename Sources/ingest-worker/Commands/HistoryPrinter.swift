import GraphCore
import IngestCore

/// Prints the history page by page.
struct HistoryPrinter {
    let store: Store
    let builder: NotificationBuilder
    let json: Bool

    /// Prints whole transactions, and returns the token of the last one.
    func showAll(after token: Int64?, limit: Int) throws -> Int64? {
        var shown: Int64?
        var after = try token ?? store.read { try $0.purgedToken() }
        var left = limit
        while left > 0 {
            let transactions = try store.read { try $0.history(after: after, limit: left) }
            guard let last = transactions.last else { break }
            for transaction in transactions { try show(transaction) }
            left -= transactions.count
            (after, shown) = (last.token, last.token)
        }
        return shown
    }

    private func show(_ transaction: HistoryTransaction) throws {
        if !json { showHead(transaction) }
        var page: HistoryTransaction? = transaction
        var part = 1
        while let current = page {
            part += try showChanges(current, firstPart: part)
            page = try current.nextIndex.flatMap { index in
                try store.read { try $0.transaction(current.token, from: index, limit: 10_000) }
            }
        }
    }

    /// Prints the changes that a request asks for, of at most `limit` transactions, and returns the token of the last one.
    func showMatching(_ request: HistoryRequest, limit: Int) throws -> Int64? {
        var next: HistoryRequest? = request
        next?.limit = 5000
        var last: Int64?
        var left = limit
        while let request = next {
            let page = try store.read { try $0.history(request) }
            for transaction in page.transactions {
                if transaction.token != last {
                    if left == 0 { return last }
                    left -= 1
                    if !json { showHead(transaction) }
                }
                last = transaction.token
                _ = try showChanges(transaction, firstPart: 1)
            }
            next = page.next
        }
        return last
    }

    private func showHead(_ transaction: HistoryTransaction) {
        let context = transaction.context.map { " (\($0))" } ?? ""
        let source = transaction.source.map { " from \($0)" } ?? ""
        Console.print(
            "\(transaction.token)  \(Timestamp.text(transaction.time))  \(transaction.author)\(context)\(source)"
                .visible)
    }

    /// Prints a page's changes, and returns the number of parts.
    private func showChanges(_ transaction: HistoryTransaction, firstPart: Int) throws -> Int {
        if json {
            let notifications = try builder.notifications(for: transaction, firstPart: firstPart)
            for notification in notifications { Console.print(notification.value ?? "") }
            return notifications.count
        }
        for change in transaction.changes {
            let type = store.model.entity(named: change.entity)?.identity.type ?? .string
            let properties = change.properties.isEmpty ? "" : "  " + change.properties.joined(separator: ", ")
            let tombstone = change.tombstone.map { "  \($0)" } ?? ""
            let identity = type.text(of: change.identity)
            Console.print("    \(change.kind.name) \(change.entity) \(identity)\(properties)\(tombstone)".visible)
        }
        return 1
    }
}

import ArgumentParser
import GraphCore
import IngestCore

// Objects of several stores, in one order.
extension FetchCommand {
    func run(forStores partitions: [Int32]) throws {
        var first = options
        first.store = partitions.first.map { StoreChoice($0) }
        let model = try ObjectModel.load(path: first.load().configuration.model)
        if try explain || checkedRequest(model, after: nil).isOfRows { return try runForEach(of: partitions) }
        if count { return try showCount(partitions) }
        var reached = StorePositions()
        if let after {
            guard let positions = StorePositions(after) else {
                throw ValidationError("--after takes the positions that a page of several stores ended with")
            }
            reached = positions
        }
        let (end, limit) = (offset.addingReportingOverflow(limit ?? 100).partialValue, limit ?? 100)
        guard offset >= 0, limit >= 0, end >= 0, end < .max else { throw ValidationError("--limit is too large") }
        var found: [Found] = []
        try runForEach(of: partitions) { command in
            guard let partition = command.options.store?.one else { return }
            (command.limit, command.offset) = (end + 1, 0)
            let store = try command.options.openForReading()
            let request = try command.checkedRequest(store.model, after: reached[partition])
            found += try store.read { try $0.placedObjects(request) }.map { Found(partition, $0, request) }
        }
        found.sort { $0.precedes($1) }
        for last in found.prefix(end) { reached[last.partition] = last.request.cursorText(at: last.position) }
        show(found.prefix(end).dropFirst(offset))
        if found.count > end { Console.note("more: --after \(reached)") }
    }

    private func showCount(_ partitions: [Int32]) throws {
        var total = 0
        try runForEach(of: partitions) { command in
            let store = try command.options.openForReading()
            let request = try command.checkedRequest(store.model, after: nil)
            total += try store.read { try $0.count(request) }
        }
        Console.print("\(total)")
    }

    private func show(_ found: ArraySlice<Found>) {
        if form.json {
            for place in found {
                var text = ""
                place.object.appendJSON(to: &text)
                Console.write(Console.marked(text, place.partition))
            }
            return
        }
        let labels = ["store", "─────"] + found.map { "\($0.partition)" }
        let lines = FetchedTable().text(found.map(\.object)).split(separator: "\n", omittingEmptySubsequences: false)
        for (label, line) in zip(labels, lines) {
            Console.print(label + String(repeating: " ", count: 7 - label.count) + line)
        }
    }
}

/// An object that a store has, with its place in the order of the request.
private struct Found {
    let partition: Int32
    let object: FetchedObject
    let position: FetchPosition
    let request: CheckedFetchRequest

    init(_ partition: Int32, _ placed: (object: FetchedObject, position: FetchPosition), _ request: CheckedFetchRequest)
    {
        (self.partition, self.request) = (partition, request)
        (object, position) = placed
    }

    func precedes(_ other: Found) -> Bool {
        if partition == other.partition { return position.precedes(other.position, in: request.sort) }
        return position.precedesByValues(other.position, in: request.sort) ?? (partition < other.partition)
    }
}

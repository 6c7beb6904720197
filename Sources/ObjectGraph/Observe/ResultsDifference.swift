import GraphCore

/// The difference between two ordered lists of objects, computed from the lists alone.
///
/// Deletions and the sources of moves are positions in the old list. Insertions and the destinations of moves are
/// positions in the new one. Source of the kinds: NSFetchedResultsController.h.
public struct ResultsDifference: Sendable, Equatable {
    /// An object that is in both lists, at another place among the remaining objects.
    public struct Move: Sendable, Equatable {
        /// The position in the old list.
        public let from: Int
        /// The position in the new list.
        public let to: Int
    }

    /// An object that is in both lists, whose content changed.
    public struct Update: Sendable, Equatable {
        /// The position in the old list.
        public let from: Int
        /// The position in the new list.
        public let to: Int
    }

    /// Positions in the old list, ascending.
    public private(set) var deletions: [Int] = []
    /// Positions in the new list, ascending.
    public private(set) var insertions: [Int] = []
    /// The moves in the order of the new list: as few as possible, and of these the fewest of unchanged objects.
    public private(set) var moves: [Move] = []
    /// The updates in the order of the new list; a moved object may be among them.
    public private(set) var updates: [Update] = []

    /// Tells whether the lists are the same and nothing changed.
    public var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

    /// Computes the difference of two lists without repeated ids.
    ///
    /// - Parameters:
    ///   - old: the ids before.
    ///   - new: the ids after.
    ///   - changed: the ids of objects whose content changed.
    public init<ID: Hashable>(from old: [ID], to new: [ID], changed: Set<ID> = []) {
        let positions = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1, $0) })
        let kept = Set(new)
        deletions = old.indices.filter { !kept.contains(old[$0]) }
        var common: [(from: Int, to: Int)] = []
        for (index, id) in new.enumerated() {
            guard let position = positions[id] else {
                insertions.append(index)
                continue
            }
            common.append((position, index))
            if changed.contains(id) { updates.append(Update(from: position, to: index)) }
        }
        // One more that stays outweighs all that are unchanged.
        let weights = common.map { common.count + (changed.contains(new[$0.to]) ? 1 : 2) }
        let staying = Self.heaviestRise(common.map(\.from), weights, below: old.count)
        moves = common.indices.filter { !staying.contains($0) }
            .map { Move(from: common[$0].from, to: common[$0].to) }
    }

    /// The positions of the ascending part of greatest weight, of a list without repetitions.
    ///
    /// A Fenwick tree over the values has, for each range of values, the heaviest part that ends there so far.
    private static func heaviestRise(_ list: [Int], _ weights: [Int], below bound: Int) -> Set<Int> {
        typealias Part = (weight: Int, last: Int)
        var parts = [Part](repeating: (0, -1), count: bound + 1)
        var previous = [Int](repeating: -1, count: list.count)
        var heaviest: Part = (0, -1)
        for (index, value) in list.enumerated() {
            var before: Part = (0, -1)
            var node = value
            while node > 0 {
                if parts[node].weight > before.weight { before = parts[node] }
                node &= node - 1
            }
            previous[index] = before.last
            let part: Part = (before.weight + weights[index], index)
            node = value + 1
            while node <= bound {
                if parts[node].weight < part.weight { parts[node] = part }
                node += node & -node
            }
            if part.weight > heaviest.weight { heaviest = part }
        }
        var rise: Set<Int> = []
        var index = heaviest.last
        while index >= 0 {
            rise.insert(index)
            index = previous[index]
        }
        return rise
    }

    /// Returns the new list, given the old one and the elements of the new one at positions.
    ///
    /// It first removes deleted and moved elements, then inserts new and moved ones from the front.
    public func applied<Element>(to old: [Element], element: (Int) -> Element) -> [Element] {
        var result = old
        for position in (deletions + moves.map(\.from)).sorted(by: >) { result.remove(at: position) }
        let arrivals = insertions.map { ($0, element($0)) } + moves.map { ($0.to, old[$0.from]) }
        for (position, arrival) in arrivals.sorted(by: { $0.0 < $1.0 }) { result.insert(arrival, at: position) }
        for update in updates { result[update.to] = element(update.to) }
        return result
    }
}

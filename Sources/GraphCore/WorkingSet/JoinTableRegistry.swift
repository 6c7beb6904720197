/// The links of a join table that a chunk touches.
package struct JoinTableRegistry {
    package let join: JoinTable
    /// Whether a link was in the store and whether it is there now.
    package private(set) var states: [Pair: State] = [:]
    private var byOwner: [Int64: [Int64]] = [:]
    private var byDestination: [Int64: [Int64]] = [:]
    private var loadedOwners: Set<Int64> = []
    private var loadedDestinations: Set<Int64> = []

    package struct State {
        package let original: Bool
        package var current: Bool
        var originalPlaces = PairPlaces()
        /// Where the ends are in each other's lists, as far as those are ordered.
        package var places = PairPlaces()

        package init(
            original: Bool, current: Bool, originalPlaces: PairPlaces = PairPlaces(), places: PairPlaces = PairPlaces()
        ) {
            self.original = original
            self.current = current
            self.originalPlaces = originalPlaces
            self.places = places
        }

        /// Tells whether the link was made or undone.
        package var isChanged: Bool { original != current }
        /// Tells whether the destination has another place among the owner's destinations.
        package var movesDestination: Bool { places.destination != originalPlaces.destination }
        /// Tells whether the owner has another place among the destination's owners.
        package var movesOwner: Bool { places.owner != originalPlaces.owner }
    }

    init(_ join: JoinTable) { self.join = join }

    package mutating func reset() {
        states.removeAll(keepingCapacity: true)
        byOwner.removeAll(keepingCapacity: true)
        byDestination.removeAll(keepingCapacity: true)
        loadedOwners.removeAll(keepingCapacity: true)
        loadedDestinations.removeAll(keepingCapacity: true)
    }

    func isLoaded(_ pk: Int64, isOwner: Bool) -> Bool {
        isOwner ? loadedOwners.contains(pk) : loadedDestinations.contains(pk)
    }

    mutating func noteLoaded(_ keys: [Int64], isOwner: Bool) {
        if isOwner { loadedOwners.formUnion(keys) } else { loadedDestinations.formUnion(keys) }
    }

    mutating func noteStored(_ pair: Pair, _ places: PairPlaces = PairPlaces()) {
        if states[pair] != nil { return }
        insert(pair, State(original: true, current: true, originalPlaces: places, places: places))
    }

    mutating func noteAbsent(_ pair: Pair) {
        if states[pair] != nil { return }
        insert(pair, State(original: false, current: false))
    }

    private mutating func insert(_ pair: Pair, _ state: State) {
        states[pair] = state
        byOwner[pair.owner, default: []].append(pair.destination)
        byDestination[pair.destination, default: []].append(pair.owner)
    }

    /// Returns a link's state, or nil where the store has to be asked.
    package func state(_ pair: Pair) -> State? {
        if let state = states[pair] { return state }
        if loadedOwners.contains(pair.owner) || loadedDestinations.contains(pair.destination) {
            return State(original: false, current: false)
        }
        return nil
    }

    /// Sets whether a link is there; its state in the store has to be known.
    package mutating func set(_ pair: Pair, _ isLinked: Bool) {
        if states[pair] == nil { insert(pair, State(original: false, current: false)) }
        states[pair]?.current = isLinked
    }

    /// Sets where a link's ends are in each other's lists.
    package mutating func setPlaces(_ pair: Pair, _ places: PairPlaces) { states[pair]?.places = places }

    /// Returns the keys on the other side of an object's links; in their order, where they have one.
    func linked(to pk: Int64, isOwner: Bool) -> [Int64] {
        func pair(_ other: Int64) -> Pair {
            isOwner ? Pair(owner: pk, destination: other) : Pair(owner: other, destination: pk)
        }
        let keys = ((isOwner ? byOwner[pk] : byDestination[pk]) ?? []).filter { states[pair($0)]?.current ?? false }
        guard isOwner ? join.ordersDestinations : join.ordersOwners else { return keys }
        func place(_ other: Int64) -> Int64 {
            let places = states[pair(other)]?.places
            return (isOwner ? places?.destination : places?.owner) ?? .max
        }
        return keys.sorted { (place($0), $0) < (place($1), $1) }
    }

    /// Returns the number of an object's stored links that are undone.
    func removedCount(of pk: Int64, isOwner: Bool) -> Int {
        ((isOwner ? byOwner[pk] : byDestination[pk]) ?? []).count { other in
            let pair = isOwner ? Pair(owner: pk, destination: other) : Pair(owner: other, destination: pk)
            return states[pair].map { $0.original && !$0.current } ?? false
        }
    }

    /// Forgets which objects' links are all known, and the links that are as in the store: they are read again.
    package mutating func forgetUnchanged() {
        loadedOwners.removeAll()
        loadedDestinations.removeAll()
        let changed = states.filter { $0.value.isChanged || $0.value.places != $0.value.originalPlaces }
        states.removeAll()
        byOwner.removeAll()
        byDestination.removeAll()
        for (pair, state) in changed { insert(pair, state) }
    }

    /// Puts the links of an object back to what they were in the store.
    package mutating func revert(_ pk: Int64, isOwner: Bool) {
        for other in (isOwner ? byOwner[pk] : byDestination[pk]) ?? [] {
            let pair = isOwner ? Pair(owner: pk, destination: other) : Pair(owner: other, destination: pk)
            if let state = states[pair] {
                states[pair]?.current = state.original
                states[pair]?.places = state.originalPlaces
            }
        }
    }

    /// The links that differ from the store.
    package var changes: [(pair: Pair, state: State)] {
        let isOrdered = join.ordersDestinations || join.ordersOwners
        return states.compactMap { pair, state in
            if state.original != state.current { return (pair, state) }
            return isOrdered && state.current && state.originalPlaces != state.places ? (pair, state) : nil
        }
    }
}

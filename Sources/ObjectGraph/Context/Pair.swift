/// A link of a join table.
struct Pair: KeyHashable {
    let owner: Int64
    let destination: Int64

    var keyHash: KeyHash { KeyHash(owner, destination) }
}

/// A link's places in the lists of its ends, where they are ordered.
struct PairPlaces: Equatable {
    /// The destination's place among the owner's destinations.
    var destination: Int64?
    /// The owner's place among the destination's owners.
    var owner: Int64?
}

/// A link of a join table.
package struct Pair: KeyHashable {
    package let owner: Int64
    package let destination: Int64

    package init(owner: Int64, destination: Int64) {
        self.owner = owner
        self.destination = destination
    }

    package var keyHash: KeyHash { KeyHash(owner, destination) }

    /// The keys of this end and of the other end, for a relationship whose objects are the owners or the destinations.
    package func ends(isOwner: Bool) -> (near: Int64, far: Int64) {
        isOwner ? (owner, destination) : (destination, owner)
    }
}

/// A link's places in the lists of its ends, where they are ordered.
package struct PairPlaces: Equatable {
    /// The destination's place among the owner's destinations.
    package var destination: Int64?
    /// The owner's place among the destination's owners.
    package var owner: Int64?

    package init(destination: Int64? = nil, owner: Int64? = nil) {
        self.destination = destination
        self.owner = owner
    }
}

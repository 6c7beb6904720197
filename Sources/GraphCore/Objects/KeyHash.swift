/// The hash of a few numbers that the store gave out: primary keys, and positions in the model.
///
/// A save looks several of them up for each link. The standard library's hash takes nine times as long: it keeps tables
/// fast under keys that were chosen to collide. Nobody outside chooses these; identities have the hash of ``Value``.
package struct KeyHash {
    private let bits: UInt64

    init(_ first: Int64, _ second: Int64 = 0, _ third: Int64 = 0) {
        bits = Self.mix(Self.mix(UInt64(bitPattern: first), UInt64(bitPattern: second)), UInt64(bitPattern: third))
    }

    /// Returns the hash for a table. Each table has a seed of its own, so a copy in one table's order does not fill another
    /// one from one side.
    package func mixed(_ seed: Int) -> Int { Int(truncatingIfNeeded: Self.mix(bits, UInt64(truncatingIfNeeded: seed))) }

    private static func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = (one ^ other &* 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}

/// A key of a hash table with a ``KeyHash`` of its own.
package protocol KeyHashable: Hashable {
    var keyHash: KeyHash { get }
}

extension KeyHashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(keyHash.mixed(0)) }

    /// Gives tables the hash itself; by way of a `Hasher` it would be hashed by the standard library once more.
    package func _rawHashValue(seed: Int) -> Int { keyHash.mixed(seed) }
}

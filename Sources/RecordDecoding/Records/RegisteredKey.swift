/// A key that may name a schema of a registry.
///
/// Most routes read no key, and a number in eight bytes looks like a key with a schema. So the registry is asked when the
/// key is read, once for a record.
final class RegisteredKey {
    private let read: () throws(DecodeError) -> [UInt8]?
    private var known: Result<[UInt8]?, DecodeError>?

    init(_ read: @escaping () throws(DecodeError) -> [UInt8]?) { self.read = read }

    /// Returns the key as JSON, or nil where it names no schema after all.
    func json() throws(DecodeError) -> [UInt8]? {
        let found = known ?? Result { () throws(DecodeError) in try read() }
        known = found
        return try found.get()
    }
}

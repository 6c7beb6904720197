import StoreSQL

extension SQLText {
    /// Returns a name with a suffix, of which the name loses the end where PostgreSQL would cut the whole.
    static func name(_ name: String, suffix: String) -> String {
        var name = name
        while !name.isEmpty, name.utf8.count + suffix.utf8.count > ConnectionAddress.maximumNameLength {
            name.removeLast()
        }
        return name + suffix
    }
}

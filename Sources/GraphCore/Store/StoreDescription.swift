/// A store's own description, whatever its model.
public struct StoreDescription: Sendable {
    /// The store's own identity.
    public let identity: String
    /// The identity of the store that it was built to replace, or nil.
    public let replaces: String?
    /// The fingerprint of the settings with which it was built to replace that, or nil.
    public let builtWith: String?
    /// How far its sources were read.
    public let positions: [SourcePosition]
    /// The names of the history's readers that the store keeps.
    public let cursorNames: [String]

    /// The name under which a store notes which other it was built to replace.
    package static let replacesKey = "replaces"
    /// The name under which it notes the settings that it was built with.
    package static let builtWithKey = "builtWith"

    /// - Parameter metadata: returns what the store notes under a name.
    package init(
        positions: [SourcePosition], cursorNames: [String], metadata: (_ key: String) throws -> String?
    ) rethrows {
        identity = try metadata("storeID") ?? ""
        replaces = try metadata(Self.replacesKey)
        builtWith = try metadata(Self.builtWithKey)
        self.positions = positions
        self.cursorNames = cursorNames
    }
}

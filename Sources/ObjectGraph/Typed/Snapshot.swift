import GraphCore

/// An object of a typed class from a read context: a copy with read-only properties.
///
///     let chats = try store.read { try $0.fetch(Chat.self, where: \.title != nil) }
///     let titles = chats.map(\.title)
///
/// Threads may share and keep snapshots. A snapshot has the attributes; a ``ReadContext`` returns the destinations of
/// relationships. Computed properties of the class may use attributes only, because relationships are empty in them.
@dynamicMemberLookup
public struct Snapshot<Object: TypedObject>: Sendable {
    /// The fetched object.
    public let fetched: FetchedObject

    init(_ fetched: FetchedObject) { self.fetched = fetched }

    /// Reads an attribute, or a computed property of the class.
    public subscript<Content: AttributeValue>(dynamicMember path: KeyPath<Object, Content>) -> Content {
        if let found = try? KeyPathProbe.path(path, of: Object.self), found.names.count == 1, found.function == nil,
            let value = fetched[found.names[0]].flatMap({ Content(storedValue: $0) })
        {
            return value
        }
        return Object(TypedObject.Backing(content: .fetched(fetched)))[keyPath: path]
    }

    var identityExpression: FetchPredicate.Expression {
        let identity = fetched.entity.identity
        return .literal(Literal(Literal.Content(fetched[identity.name] ?? .null, identity.type)))
    }
}

extension Snapshot: Equatable {
    /// Tells whether both are of the same object and have the same values.
    public static func == (left: Snapshot, right: Snapshot) -> Bool {
        left.fetched.entity.name == right.fetched.entity.name && left.fetched.pk == right.fetched.pk
            && left.fetched.isPlaceholder == right.fetched.isPlaceholder
            && left.fetched.contents == right.fetched.contents
    }
}

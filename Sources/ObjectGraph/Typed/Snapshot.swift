/// An object of a typed class as a read context delivers it: a copy whose properties can be read and not set.
///
///     let chats = try store.read { try $0.fetch(Chat.self, where: \.title != nil) }
///     let titles = chats.map(\.title)
///
/// Snapshots may be passed between threads and kept. Attributes are read as properties; where relationships lead is
/// asked of a ``ReadContext``. Computed properties of the class work as far as they use attributes only: relationships
/// are empty in them.
@dynamicMemberLookup
public struct Snapshot<Object: TypedObject>: Sendable {
    /// What was read.
    public let fetched: FetchedObject

    init(_ fetched: FetchedObject) { self.fetched = fetched }

    /// Tells whether the object was mentioned, but has not arrived: properties that are not optional then read as
    /// noughts and empty texts.
    public var isPlaceholder: Bool { fetched.isPlaceholder }

    /// Reads an attribute, or what the class computes of attributes.
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

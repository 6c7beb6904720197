import GraphCore

/// The class of objects that a program declares as Swift types.
///
/// Properties are declared by ``Identity``, ``Field``, ``Derived``, ``ToOne`` and ``ToMany``; other properties are the
/// program's own. A subclass of a typed class is a sub-entity. For example:
///
///     final class Chat: TypedObject {
///         @Identity var id: String
///         @Field(maxLength: 200) var title: String?
///         @Derived("messages.@count") var messagesCount: Int
///         @ToMany(inverse: \Message.chat, delete: .cascade) var messages: [Message]
///     }
///
///     final class Message: TypedObject {
///         @Identity var id: String
///         @Field var body: String
///         @ToOne var chat: Chat?
///     }
///
/// A typed object is a view on a ``ManagedObject``. A context has one view of an object while the program has a reference
/// to it. Properties cannot throw, so the context keeps their errors, and ``EditingContext/save()`` throws the first one
/// and saves nothing. ``EditingContext/checkRefusals()`` says for how long. ``EditingContext/checking(_:)`` throws such
/// an error at the end of its block.
open class TypedObject: ObjectView {
    /// The content of a view. Only the library makes one.
    public struct Backing {
        enum Content {
            /// The object that holds the declarations of its class.
            case declarations
            case managed(ManagedObject)
            case fetched(FetchedObject)
            case probe(KeyPathProbe)
        }

        let content: Content
    }

    let backing: Backing.Content
    private let knownLayout: ClassLayout?

    /// Makes the view; the library calls it.
    public required init(_ backing: Backing) {
        self.backing = backing.content
        if case .declarations = backing.content {
            knownLayout = nil
        } else {
            knownLayout = ClassLayout.of(Self.self)
        }
    }

    var layout: ClassLayout { knownLayout ?? ClassLayout.of(type(of: self)) }

    /// The entity's name: the name of the class, unless a subclass overrides it.
    open class var entityName: String { "\(self)" }

    /// Further options of the entity.
    open class var entityOptions: EntityOptions { EntityOptions() }

    /// The object of this view. It is nil in computed properties of a ``Snapshot``, and while the library resolves key
    /// paths.
    public var managedObject: ManagedObject? {
        if case .managed(let object) = backing { return object }
        return nil
    }

    // MARK: Attributes

    func read<Content: AttributeValue>(_ property: PropertyDeclaration?) -> Content {
        guard let property else { return .placeholder }
        switch backing {
        case .declarations: return .placeholder
        case .probe(let probe):
            probe.touch(property)
            return .sample
        case .fetched(let object):
            return object[property.name].flatMap { Content(storedValue: $0) } ?? .placeholder
        case .managed(let object):
            return object.context.reading(property.name, of: object, else: .placeholder) {
                let stored = try object[property.name]
                if let value = Content(storedValue: stored) { return value }
                // A placeholder has no values yet.
                if stored.isNull { return .placeholder }
                throw EditingError(
                    .type, "\(property.label) of \(object.objectID) holds a value that is no \(Content.self)")
            }
        }
    }

    func write<Content: AttributeValue>(_ property: PropertyDeclaration?, _ value: Content) {
        guard let property, case .managed(let object) = backing else { return }
        object.context.setting(property.name, of: object) { try object.set(property.name, value) }
    }

    // MARK: Relationships

    func readObject<Destination: TypedObject>(_ property: PropertyDeclaration?) -> Destination? {
        guard let property else { return nil }
        switch backing {
        case .declarations, .fetched: return nil
        case .probe(let probe): return Destination(Backing(content: .probe(probe.step(property))))
        case .managed(let object):
            return object.context.reading(property.name, of: object, else: nil) {
                try object.object(property.name).map { object.context.typed(Destination.self, $0) }
            }
        }
    }

    func writeObject(_ property: PropertyDeclaration?, _ destination: TypedObject?) {
        guard let property, case .managed(let object) = backing else { return }
        object.context.setting(property.name, of: object) {
            try object.setObject(property.name, try destination?.managed())
        }
    }

    func readObjects<Destination: TypedObject>(_ property: PropertyDeclaration?) -> [Destination] {
        guard let property else { return [] }
        switch backing {
        case .declarations, .fetched: return []
        case .probe(let probe):
            let step = probe.step(property)
            return (0..<KeyPathProbe.destinationCount).map { _ in Destination(Backing(content: .probe(step))) }
        case .managed(let object):
            return object.context.reading(property.name, of: object, else: []) {
                try object.objects(property.name).map { object.context.typed(Destination.self, $0) }
            }
        }
    }

    func writeObjects(_ property: PropertyDeclaration?, _ destinations: [TypedObject]) {
        guard let property, case .managed(let object) = backing else { return }
        object.context.setting(property.name, of: object) {
            try object.setObjects(property.name, try destinations.map { try $0.managed() })
        }
    }

    /// The context's object of this view.
    func managed() throws(EditingError) -> ManagedObject {
        guard case .managed(let object) = backing else {
            throw EditingError(
                .otherContext, "The \(Self.self) belongs to no editing context; fetch it in the context that changes it"
            )
        }
        return object
    }
}

extension TypedObject: Equatable, Hashable {
    /// Tells whether both are views on the same object.
    public static func == (left: TypedObject, right: TypedObject) -> Bool {
        if let left = left.managedObject, let right = right.managedObject { return left === right }
        return left === right
    }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(managedObject ?? self as AnyObject))
    }
}

extension TypedObject: PropertyValue {
    /// The object's identity; an empty list, which is no value, for an object that is gone or has no context.
    public var predicateExpression: FetchPredicate.Expression { managedObject?.predicateExpression ?? .list([]) }
}

import GraphCore

/// The inverse of a relationship without a key path for it.
public enum NoKeyPath: Sendable {
    /// The relationship has no inverse.
    case none
    /// The relationship is its own inverse, as between friends.
    case itself
}

/// Declares a to-one relationship of a ``TypedObject`` class.
///
/// One of the two sides names the inverse by its key path.
@propertyWrapper
public struct ToOne<Destination: TypedObject>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    private init(
        _ inverse: RelationshipInverse, _ delete: DeleteRule, _ required: Bool, _ onMissing: MissingDestination,
        _ renamedFrom: String?, _ file: StaticString, _ line: Int
    ) {
        declaration = .relationship(.toOne, to: Destination.self, inverse, file, line) {
            $0.deleteRule = delete
            $0.isOptional = !required
            $0.onMissing = onMissing
            $0.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    /// Declares a relationship whose other side names the inverse.
    ///
    /// - Parameters:
    ///   - delete: the effect of deleting the object on the destination.
    ///   - required: whether the object needs a destination.
    ///   - onMissing: the effect of an event's reference to a destination that has not arrived.
    ///   - renamedFrom: the name in the model's earlier versions.
    ///   - file: the place of the declaration, for errors.
    ///   - line: the place of the declaration, for errors.
    public init(
        delete: DeleteRule = .nullify, required: Bool = false, onMissing: MissingDestination = .placeholder,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.statedByOther, delete, required, onMissing, renamedFrom, file, line)
    }

    /// Declares a relationship without inverse, or one that is its own inverse.
    public init(
        inverse: NoKeyPath, delete: DeleteRule = .nullify, required: Bool = false,
        onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil, file: StaticString = #fileID,
        line: Int = #line
    ) {
        self.init(inverse == .itself ? .itself : .none, delete, required, onMissing, renamedFrom, file, line)
    }

    /// Declares a relationship with a to-many inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, [Owner]>, delete: DeleteRule = .nullify,
        required: Bool = false, onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil,
        file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.keyPath(inverse), delete, required, onMissing, renamedFrom, file, line)
    }

    /// Declares a relationship with a to-one inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, Owner?>, delete: DeleteRule = .nullify,
        required: Bool = false, onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil,
        file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.keyPath(inverse), delete, required, onMissing, renamedFrom, file, line)
    }

    /// Do not call this: wrapped properties belong to classes.
    @available(*, unavailable, message: "@ToOne is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Destination? {
        get { fatalError("unreachable") }
        set { fatalError("unreachable") }
    }

    /// Reads or replaces the destination; the context updates the inverse at once.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Destination?>,
        storage storage: ReferenceWritableKeyPath<Owner, ToOne>
    ) -> Destination? {
        get { owner.readObject(owner.layout.declaration(storage)) }
        set { owner.writeObject(owner.layout.declaration(storage), newValue) }
    }
}

/// Declares a to-many relationship of a ``TypedObject`` class.
///
/// One of the two sides names the inverse by its key path. Destinations come in their order if the relationship is
/// ordered, otherwise by primary key.
@propertyWrapper
public struct ToMany<Destination: TypedObject>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    private init(
        _ inverse: RelationshipInverse, _ delete: DeleteRule, _ required: Bool, _ ordered: Bool, _ minCount: Int,
        _ maxCount: Int?, _ renamedFrom: String?, _ file: StaticString, _ line: Int
    ) {
        declaration = .relationship(.toMany, to: Destination.self, inverse, file, line) {
            $0.isToMany = true
            $0.deleteRule = delete
            $0.isOptional = !required
            $0.minimumCount = minCount
            $0.maximumCount = maxCount
            $0.isOrdered = ordered
            $0.renamedFrom = renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    /// Declares a relationship whose other side names the inverse.
    ///
    /// - Parameters:
    ///   - delete: the effect of deleting the object on the destinations.
    ///   - required: whether the object needs at least one destination.
    ///   - ordered: whether the destinations have an order.
    ///   - minCount: the minimum number of destinations, if there are any.
    ///   - maxCount: the maximum number of destinations.
    ///   - renamedFrom: the name in the model's earlier versions.
    ///   - file: the place of the declaration, for errors.
    ///   - line: the place of the declaration, for errors.
    public init(
        delete: DeleteRule = .nullify, required: Bool = false, ordered: Bool = false, minCount: Int = 0,
        maxCount: Int? = nil, renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.statedByOther, delete, required, ordered, minCount, maxCount, renamedFrom, file, line)
    }

    /// Declares a relationship without inverse, or one that is its own inverse.
    public init(
        inverse: NoKeyPath, delete: DeleteRule = .nullify, required: Bool = false, ordered: Bool = false,
        minCount: Int = 0, maxCount: Int? = nil, renamedFrom: String? = nil, file: StaticString = #fileID,
        line: Int = #line
    ) {
        self.init(
            inverse == .itself ? .itself : .none, delete, required, ordered, minCount, maxCount, renamedFrom, file, line
        )
    }

    /// Declares a relationship with a to-one inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, Owner?>, delete: DeleteRule = .nullify,
        required: Bool = false, ordered: Bool = false, minCount: Int = 0, maxCount: Int? = nil,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.keyPath(inverse), delete, required, ordered, minCount, maxCount, renamedFrom, file, line)
    }

    /// Declares a relationship with a to-many inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, [Owner]>, delete: DeleteRule = .nullify,
        required: Bool = false, ordered: Bool = false, minCount: Int = 0, maxCount: Int? = nil,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(.keyPath(inverse), delete, required, ordered, minCount, maxCount, renamedFrom, file, line)
    }

    /// Do not call this: wrapped properties belong to classes.
    @available(*, unavailable, message: "@ToMany is for properties of classes that inherit from TypedObject")
    public var wrappedValue: [Destination] {
        get { fatalError("unreachable") }
        set { fatalError("unreachable") }
    }

    /// Reads or replaces the destinations; the context updates the inverses at once.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, [Destination]>,
        storage storage: ReferenceWritableKeyPath<Owner, ToMany>
    ) -> [Destination] {
        get { owner.readObjects(owner.layout.declaration(storage)) }
        set { owner.writeObjects(owner.layout.declaration(storage), newValue) }
    }
}

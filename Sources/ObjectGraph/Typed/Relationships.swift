/// The way back of a relationship where no key path states it.
public enum NoKeyPath: Sendable {
    /// There is no way back.
    case none
    /// The relationship is its own inverse, as between friends.
    case itself
}

/// Declares a to-one relationship of a ``TypedObject`` class.
///
/// One side of two states the inverse by its key path, the other says nothing.
@propertyWrapper
public struct ToOne<Destination: TypedObject>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    private init(_ inverse: RelationshipInverse, _ options: Options) {
        declaration = .relationship(.toOne, to: Destination.self, inverse, options.file, options.line) {
            $0.deleteRule = options.delete
            $0.isOptional = !options.isRequired
            $0.onMissing = options.onMissing
            $0.renamedFrom = options.renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    private struct Options {
        let delete: DeleteRule
        let isRequired: Bool
        let onMissing: MissingDestination
        let renamedFrom: String?
        let file: StaticString
        let line: Int
    }

    /// Declares a relationship whose inverse is stated on the other side.
    ///
    /// - Parameters:
    ///   - delete: what deleting the object does to the destination.
    ///   - required: whether the object cannot be without a destination.
    ///   - onMissing: what becomes of an event's reference to a destination that has not arrived.
    ///   - renamedFrom: the name in the model's versions before.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
    public init(
        delete: DeleteRule = .nullify, required: Bool = false, onMissing: MissingDestination = .placeholder,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .statedByOther,
            Options(
                delete: delete, isRequired: required, onMissing: onMissing, renamedFrom: renamedFrom, file: file,
                line: line))
    }

    /// Declares a relationship without inverse, or one that is its own.
    public init(
        inverse: NoKeyPath, delete: DeleteRule = .nullify, required: Bool = false,
        onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil, file: StaticString = #fileID,
        line: Int = #line
    ) {
        self.init(
            inverse == .itself ? .itself : .none,
            Options(
                delete: delete, isRequired: required, onMissing: onMissing, renamedFrom: renamedFrom, file: file,
                line: line))
    }

    /// Declares a relationship with a to-many inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, [Owner]>, delete: DeleteRule = .nullify,
        required: Bool = false, onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil,
        file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .keyPath(inverse),
            Options(
                delete: delete, isRequired: required, onMissing: onMissing, renamedFrom: renamedFrom, file: file,
                line: line))
    }

    /// Declares a relationship with a to-one inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, Owner?>, delete: DeleteRule = .nullify,
        required: Bool = false, onMissing: MissingDestination = .placeholder, renamedFrom: String? = nil,
        file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .keyPath(inverse),
            Options(
                delete: delete, isRequired: required, onMissing: onMissing, renamedFrom: renamedFrom, file: file,
                line: line))
    }

    /// Not to be called: wrapped properties belong to classes.
    @available(*, unavailable, message: "@ToOne is for properties of classes that inherit from TypedObject")
    public var wrappedValue: Destination? {
        get { fatalError("unreachable") }
        set { fatalError("unreachable") }
    }

    /// Reads the destination, or leads the relationship to another one; the inverse follows at once.
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
/// One side of two states the inverse by its key path, the other says nothing. Destinations come in their order where
/// the relationship is ordered, otherwise by primary key.
@propertyWrapper
public struct ToMany<Destination: TypedObject>: PropertyWrapper {
    let declaration: PropertyDeclaration?

    private init(_ inverse: RelationshipInverse, _ options: Options) {
        declaration = .relationship(.toMany, to: Destination.self, inverse, options.file, options.line) {
            $0.isToMany = true
            $0.deleteRule = options.delete
            $0.isOptional = !options.isRequired
            $0.minimumCount = options.minCount
            $0.maximumCount = options.maxCount
            $0.isOrdered = options.isOrdered
            $0.renamedFrom = options.renamedFrom.map { Located(content: $0, line: nil) }
        }
    }

    private struct Options {
        let delete: DeleteRule
        let isRequired: Bool
        let isOrdered: Bool
        let minCount: Int
        let maxCount: Int?
        let renamedFrom: String?
        let file: StaticString
        let line: Int
    }

    /// Declares a relationship whose inverse is stated on the other side.
    ///
    /// - Parameters:
    ///   - delete: what deleting the object does to the destinations.
    ///   - required: whether the object needs at least one destination.
    ///   - ordered: whether the destinations have an order.
    ///   - minCount: the least number of destinations, where there are any.
    ///   - maxCount: the greatest number of destinations.
    ///   - renamedFrom: the name in the model's versions before.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
    public init(
        delete: DeleteRule = .nullify, required: Bool = false, ordered: Bool = false, minCount: Int = 0,
        maxCount: Int? = nil, renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .statedByOther,
            Options(
                delete: delete, isRequired: required, isOrdered: ordered, minCount: minCount, maxCount: maxCount,
                renamedFrom: renamedFrom, file: file, line: line))
    }

    /// Declares a relationship without inverse, or one that is its own.
    public init(
        inverse: NoKeyPath, delete: DeleteRule = .nullify, required: Bool = false, ordered: Bool = false,
        minCount: Int = 0, maxCount: Int? = nil, renamedFrom: String? = nil, file: StaticString = #fileID,
        line: Int = #line
    ) {
        self.init(
            inverse == .itself ? .itself : .none,
            Options(
                delete: delete, isRequired: required, isOrdered: ordered, minCount: minCount, maxCount: maxCount,
                renamedFrom: renamedFrom, file: file, line: line))
    }

    /// Declares a relationship with a to-one inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, Owner?>, delete: DeleteRule = .nullify,
        required: Bool = false, ordered: Bool = false, minCount: Int = 0, maxCount: Int? = nil,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .keyPath(inverse),
            Options(
                delete: delete, isRequired: required, isOrdered: ordered, minCount: minCount, maxCount: maxCount,
                renamedFrom: renamedFrom, file: file, line: line))
    }

    /// Declares a relationship with a to-many inverse.
    public init<Owner: TypedObject>(
        inverse: @autoclosure @escaping () -> KeyPath<Destination, [Owner]>, delete: DeleteRule = .nullify,
        required: Bool = false, ordered: Bool = false, minCount: Int = 0, maxCount: Int? = nil,
        renamedFrom: String? = nil, file: StaticString = #fileID, line: Int = #line
    ) {
        self.init(
            .keyPath(inverse),
            Options(
                delete: delete, isRequired: required, isOrdered: ordered, minCount: minCount, maxCount: maxCount,
                renamedFrom: renamedFrom, file: file, line: line))
    }

    /// Not to be called: wrapped properties belong to classes.
    @available(*, unavailable, message: "@ToMany is for properties of classes that inherit from TypedObject")
    public var wrappedValue: [Destination] {
        get { fatalError("unreachable") }
        set { fatalError("unreachable") }
    }

    /// Reads the destinations or replaces them; the inverses follow at once.
    public static subscript<Owner: TypedObject>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, [Destination]>,
        storage storage: ReferenceWritableKeyPath<Owner, ToMany>
    ) -> [Destination] {
        get { owner.readObjects(owner.layout.declaration(storage)) }
        set { owner.writeObjects(owner.layout.declaration(storage), newValue) }
    }
}

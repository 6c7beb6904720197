import GraphCore

/// The options of a ``TypedObject`` class for its entity.
///
/// For example:
///
///     override class var entityOptions: EntityOptions {
///         EntityOptions(version: \Chat.updatedAt, unique: [[\Chat.title, \Chat.owner]], indexes: [[\Chat.updatedAt]])
///     }
///
/// A subclass does not inherit the options of its superclass.
public struct EntityOptions {
    let version: AnyKeyPath?
    let unique: [[AnyKeyPath]]
    let indexes: [Index]
    let isAbstract: Bool
    let mergePolicy: String?
    let renamedFrom: String?
    let hashModifier: String?
    let info: [String: String]
    let place: PropertyDeclaration.Place

    /// Makes options.
    ///
    /// - Parameters:
    ///   - version: the attribute that orders an object's versions.
    ///   - unique: lists of properties; no two objects may have equal values in all properties of a list.
    ///   - indexes: the indexes of the store, as lists of properties or as ``Index``es.
    ///   - abstract: whether only subclasses have objects.
    ///   - mergePolicy: the policy for conflicts, named as in a model file.
    ///   - renamedFrom: the name in the model's earlier versions.
    ///   - hashModifier: a text that changes the entity's hash although nothing else changed.
    ///   - info: information for people and tools.
    ///   - file: the place of the declaration, for errors.
    ///   - line: the place of the declaration, for errors.
    public init(
        version: AnyKeyPath? = nil, unique: [[AnyKeyPath]] = [], indexes: [Index] = [], abstract: Bool = false,
        mergePolicy: String? = nil, renamedFrom: String? = nil, hashModifier: String? = nil,
        info: [String: String] = [:], file: StaticString = #fileID, line: Int = #line
    ) {
        self.version = version
        self.unique = unique
        self.indexes = indexes
        isAbstract = abstract
        self.mergePolicy = mergePolicy
        self.renamedFrom = renamedFrom
        self.hashModifier = hashModifier
        self.info = info
        place = PropertyDeclaration.Place(file, line)
    }
}

extension EntityOptions {
    /// An index of a class's entity. A list of key paths is one, as in `[\Chat.title, \Chat.updatedAt]`.
    ///
    /// For example:
    ///
    ///     EntityOptions.Index("recent", on: [.ascending(\Chat.title), .descending(\Chat.updatedAt)], where: \Chat.title != nil)
    ///
    /// docs/reference/model.md lists the conditions that such an index serves.
    public struct Index: ExpressibleByArrayLiteral {
        /// A key of the index.
        public struct Element {
            let path: AnyKeyPath
            var function: EntityIndex.Element.Function?
            var isDescending = false

            /// Ascending order.
            public static func ascending(_ path: AnyKeyPath) -> Element { Element(path: path) }

            /// Descending order.
            public static func descending(_ path: AnyKeyPath) -> Element { Element(path: path, isDescending: true) }

            /// A function of a text, as `lowercase:(title)` in a model file.
            public static func function(
                _ function: EntityIndex.Element.Function, _ path: AnyKeyPath, descending: Bool = false
            ) -> Element { Element(path: path, function: function, isDescending: descending) }
        }

        /// The condition of a partial index, and its class.
        struct Condition {
            let type: TypedObject.Type
            let result: Result<FetchPredicate, FetchPredicateError>
        }

        let name: String?
        let elements: [Element]
        let condition: Condition?

        /// Makes an index on all objects; by default its name comes from its properties.
        public init(_ name: String? = nil, on elements: [Element]) {
            self.name = name
            self.elements = elements
            condition = nil
        }

        /// Makes an index on the objects that match a condition, which compares attributes with constants.
        public init<Object: TypedObject>(
            _ name: String? = nil, on elements: [Element], where condition: TypedPredicate<Object>
        ) {
            self.name = name
            self.elements = elements
            self.condition = Condition(type: Object.self, result: condition.result)
        }

        /// Makes an index on properties, all ascending.
        public init(arrayLiteral paths: AnyKeyPath...) { self.init(on: paths.map { .ascending($0) }) }
    }
}

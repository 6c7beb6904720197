/// What a ``TypedObject`` class says of its entity beyond its properties.
///
/// For example:
///
///     override class var entityOptions: EntityOptions {
///         EntityOptions(version: \Chat.updatedAt, unique: [[\Chat.title, \Chat.owner]], indexes: [[\Chat.updatedAt]])
///     }
///
/// A subclass has options of its own: those of its superclass are not its.
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
    ///   - unique: lists of properties whose values together no two objects may share.
    ///   - indexes: the indexes that the store keeps: lists of properties, or ``Index``es for all else.
    ///   - abstract: whether there are objects of subclasses only.
    ///   - mergePolicy: the policy for conflicts, named as in a model file.
    ///   - renamedFrom: the name in the model's versions before.
    ///   - hashModifier: a text that makes the entity another one though nothing else changed.
    ///   - info: what the model says to people and tools.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
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
    /// What such an index serves is said in docs/reference/model.md.
    public struct Index: ExpressibleByArrayLiteral {
        /// What rows are ordered by.
        public struct Element {
            let path: AnyKeyPath
            var function: EntityIndex.Element.Function?
            var isDescending = false

            /// Small values first.
            public static func ascending(_ path: AnyKeyPath) -> Element { Element(path: path) }

            /// Great values first.
            public static func descending(_ path: AnyKeyPath) -> Element { Element(path: path, isDescending: true) }

            /// A text of which something is computed, as `lowercase:(title)` of a model file.
            public static func function(
                _ function: EntityIndex.Element.Function, _ path: AnyKeyPath, descending: Bool = false
            ) -> Element { Element(path: path, function: function, isDescending: descending) }
        }

        /// The condition of a partial index, and the class that it is on.
        struct Condition {
            let type: TypedObject.Type
            let result: Result<FetchPredicate, FetchPredicateError>
        }

        let name: String?
        let elements: [Element]
        let condition: Condition?

        /// Makes an index on all objects; without a name its properties name it.
        public init(_ name: String? = nil, on elements: [Element]) {
            self.name = name
            self.elements = elements
            condition = nil
        }

        /// Makes an index on the objects that a condition is true of: comparisons of attributes with constants.
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

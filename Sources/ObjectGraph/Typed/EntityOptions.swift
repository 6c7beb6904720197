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
    let indexes: [[AnyKeyPath]]
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
    ///   - indexes: lists of properties that the store keeps an index on.
    ///   - abstract: whether there are objects of subclasses only.
    ///   - mergePolicy: the policy for conflicts, named as in a model file.
    ///   - renamedFrom: the name in the model's versions before.
    ///   - hashModifier: a text that makes the entity another one though nothing else changed.
    ///   - info: what the model says to people and tools.
    ///   - file: where it is declared, for errors.
    ///   - line: where it is declared, for errors.
    public init(
        version: AnyKeyPath? = nil, unique: [[AnyKeyPath]] = [], indexes: [[AnyKeyPath]] = [], abstract: Bool = false,
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

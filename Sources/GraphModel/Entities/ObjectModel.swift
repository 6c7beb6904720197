/// Entities, their attributes and relationships, checked to hold together.
///
/// A model is immutable and shared freely between threads. Entities are addressed by name or by position.
public final class ObjectModel: Sendable {
    /// The model's name, for people.
    public let name: String
    /// The version that the model file states, for people; the store compares shapes, not versions.
    public let version: String
    /// The entities in the order of the file.
    public let entities: [Entity]
    /// The join tables of relationships that no column of an entity can hold.
    package let joinTables: [JoinTable]
    /// The uniqueness constraints of all entities; their positions are ``UniquenessConstraint/index``.
    public let uniquenessConstraints: [UniquenessConstraint]
    private let positions: [String: Int]

    /// The source of the model.
    package let declaration: ModelDeclaration
    /// The classes that stand for its entities in a program.
    package let classes = ClassRegistry()

    package init(declaration: ModelDeclaration, entities: [Entity], joinTables: [JoinTable]) {
        self.declaration = declaration
        name = declaration.name
        version = declaration.version
        self.entities = entities
        self.joinTables = joinTables
        uniquenessConstraints = entities.flatMap(\.ownUniquenessConstraints).sorted { $0.index < $1.index }
        positions = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.index) })
    }

    /// Returns the entity of a name, or nil.
    public func entity(named name: String) -> Entity? {
        positions[name].map { entities[$0] }
    }

    /// Returns the entity whose name equals `name` but for the case of letters, or nil.
    ///
    /// Event types spell entities in lower case: `message.upserted` means `Message`.
    public func entity(matching name: String) -> Entity? {
        if let exact = entity(named: name) { return exact }
        let folded = name.lowercased()
        return entities.first { $0.name.lowercased() == folded }
    }
}

extension ObjectModel {
    /// The entities that have a table: each stands at the top of a hierarchy, and most are all of theirs.
    public var rootEntities: [Entity] { entities.filter { $0.parentIndex == nil } }

    /// The entity at the top of an entity's hierarchy, whose table holds its objects.
    public func root(of entity: Entity) -> Entity { entities[entity.rootIndex] }

    /// The positions of an entity and of all below it: the kinds of objects that have its properties.
    package func kin(of entity: Int) -> [Int] { [entity] + entities[entity].subentityIndexes }

    /// Returns the names of an entity and of all entities below it: each object of the entity has one of them.
    package func kindNames(_ entity: Entity) -> [String] { kin(of: entity.index).map { entities[$0].name } }

    /// The relationship that leads back, or nil where there is none.
    public func inverse(of relationship: Relationship) -> Relationship? {
        relationship.inverseIndex.map { entities[relationship.destinationIndex].relationships[$0] }
    }
}

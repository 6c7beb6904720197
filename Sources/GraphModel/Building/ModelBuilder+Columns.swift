// The columns of each hierarchy's table.
extension ModelBuilder {
    /// A property by the entity that declares it.
    struct PropertyKey: Hashable {
        let entity: Int
        let name: String
    }

    /// The columns of a hierarchy's table, as they are found.
    struct TableBuilder {
        /// The columns of attributes and to-one relationships.
        var slots: [PropertyKey: Int] = [:]
        /// The columns of places, by the ordered relationship.
        var positionSlots: [PropertyKey: Int] = [:]
        var columnNames: [String] = []
        /// The names of the properties that the columns hold; for a place the column's own.
        var slotNames: [String] = []
        var propertySlotCount = 0
        var names = StoreNames(besides: StoreNames.ownColumns)

        /// Returns the column of a name, which it makes where there is none yet.
        mutating func column(_ name: String, for property: String) -> Int {
            if let known = columnNames.firstIndex(of: name) { return known }
            columnNames.append(name)
            slotNames.append(property)
            return columnNames.count - 1
        }
    }

    /// A property that has a column.
    private struct ColumnProperty {
        let key: PropertyKey
        /// Attributes of entities beside each other that agree in this share a column; nil where none is shared.
        let sharing: Sharing?
    }

    private struct Sharing: Hashable {
        let name: String
        /// Nil in the layout in which types did not count.
        let type: AttributeType?
    }

    /// Numbers the columns of each table: attributes, then to-one relationships, then positions.
    mutating func layOutTables() {
        for root in declaration.entities.indices where ancestors[root].isEmpty {
            let members = hierarchy(of: root)
            let properties = members.flatMap { attributeColumns($0) } + members.flatMap { linkColumns($0) }
            var table = TableBuilder()
            let names = columnNames(properties, &table.names)
            for property in properties {
                table.slots[property.key] = names[property.key].map { table.column($0, for: property.key.name) }
            }
            table.propertySlotCount = table.columnNames.count
            tables[root] = table
        }
        for index in declaration.entities.indices {
            for relationship in ownRelationships(index) where relationship.isOrdered {
                addPositions(of: relationship, PropertyKey(entity: index, name: relationship.name))
            }
        }
    }

    private func attributeColumns(_ index: Int) -> [ColumnProperty] {
        ownAttributes(index).map { attribute in
            let sharing = Sharing(name: attribute.name, type: layout == .untyped ? nil : attribute.type)
            return ColumnProperty(
                key: PropertyKey(entity: index, name: attribute.name),
                sharing: attribute.derived == nil ? sharing : nil)
        }
    }

    private func linkColumns(_ index: Int) -> [ColumnProperty] {
        ownRelationships(index).filter { !$0.isToMany }
            .map { ColumnProperty(key: PropertyKey(entity: index, name: $0.name), sharing: nil) }
    }

    /// Names the columns of a table. Of properties that claim one name, the topmost entity's gets it. Among entities of one
    /// depth the entity's name decides, because the order of a file's lines must not count.
    private func columnNames(_ properties: [ColumnProperty], _ names: inout StoreNames) -> [PropertyKey: String] {
        var found: [PropertyKey: String] = [:]
        var shared: [Sharing: String] = [:]
        func rank(_ key: PropertyKey) -> (Int, String, String) {
            (ancestors[key.entity].count, declaration.entities[key.entity].name, key.name)
        }
        for property in properties.sorted(by: { rank($0.key) < rank($1.key) }) {
            let name =
                property.sharing.flatMap { shared[$0] }
                ?? names.takeColumn(property.key.name, of: declaration.entities[property.key.entity].name)
            found[property.key] = name
            if let sharing = property.sharing { shared[sharing] = name }
        }
        return found
    }

    /// Adds the column of the destinations that holds their place in an ordered one-to-many relationship.
    private mutating func addPositions(of relationship: RelationshipDeclaration, _ key: PropertyKey) {
        guard let inverse = inverseDeclaration(of: relationship), !inverse.isToMany,
            let destination = positions[relationship.destination.content],
            var table = tables[root(of: destination)],
            let slot = table.slots[PropertyKey(entity: destination, name: inverse.name)]
        else { return }
        let name = table.names.take("_\(table.columnNames[slot])_position")
        table.positionSlots[key] = table.column(name, for: name)
        tables[root(of: destination)] = table
    }

    /// Returns the slot of a stored attribute or to-one relationship of an entity, inherited ones included, or nil.
    func slot(_ name: String, of entity: EntityDeclaration) -> Int? {
        guard let index = positions[entity.name], let table = tables[root(of: index)] else { return nil }
        return ([index] + ancestors[index]).lazy
            .compactMap { table.slots[PropertyKey(entity: $0, name: name)] }.first
    }
}

/// A column of an entity's view for people.
package struct ReadableColumn {
    /// The property that the column shows.
    package enum Content {
        case attribute(Attribute)
        case relationship(Relationship)
    }

    /// The column's name: the property's own unless that is taken.
    package let title: String
    package let content: Content

    /// Returns the columns of an entity: its attributes, then the relationships that are not lists without a join table.
    ///
    /// The destinations show the links that are missing; a list could have millions of entries.
    package static func all(_ entity: Entity, _ model: ObjectModel) -> [ReadableColumn] {
        var names = StoreNames(besides: StoreNames.ownColumns)
        let links = entity.relationships.filter { link in
            if case .inverseColumn = link.storage { false } else { true }
        }
        let shown =
            entity.attributes.map { ($0.name, $0.entityIndex, Content.attribute($0)) }
            + links.map { ($0.name, $0.entityIndex, Content.relationship($0)) }
        // Inherited properties come first. The properties of one entity stand in the order of their columns' names.
        func rank(_ index: Int) -> (Int, String) {
            (model.entities[shown[index].1].ancestorIndexes.count, shown[index].0)
        }
        var titles = [String](repeating: "", count: shown.count)
        for index in shown.indices.sorted(by: { rank($0) < rank($1) }) {
            titles[index] = names.takeColumn(shown[index].0, of: model.entities[shown[index].1].name)
        }
        return zip(titles, shown).map { ReadableColumn(title: $0, content: $1.2) }
    }
}

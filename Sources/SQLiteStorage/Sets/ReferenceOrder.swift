/// The tables of a model in an order in which what refers comes before what it refers to, as far as there is one.
struct ReferenceOrder {
    /// The topmost entities of the tables.
    let referringFirst: [Entity]

    init(_ model: ObjectModel) {
        /// The tables that each table's columns refer to, by the positions of their topmost entities.
        var references: [Int: Set<Int>] = [:]
        for entity in model.entities {
            for relationship in entity.relationships {
                guard case .column = relationship.storage else { continue }
                let destination = model.entities[relationship.destinationIndex].rootIndex
                if destination != entity.rootIndex { references[entity.rootIndex, default: []].insert(destination) }
            }
        }
        var left = model.entities.filter { $0.rootIndex == $0.index }
        var order: [Entity] = []
        while !left.isEmpty {
            // Where references go in a circle, any table may begin.
            let position =
                left.firstIndex { entity in !left.contains { references[$0.index]?.contains(entity.index) == true } }
                ?? 0
            order.append(left.remove(at: position))
        }
        referringFirst = order
    }
}

import ObjectGraph

/// The models that tests use.
enum TestModels {
    /// The package's folder: this file stands four levels below it.
    static let packageFolder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        .joined(separator: "/")

    static func chat() throws -> ObjectModel { try ObjectModel.load(path: packageFolder + "/config/models/chat.yaml") }

    static func workOrders() throws -> ObjectModel {
        try ObjectModel.load(path: packageFolder + "/config/models/work-orders.yaml")
    }

    /// An entity with an attribute of each type, and identities that are no texts.
    static func kinds() throws -> ObjectModel {
        try ObjectModel.parse(
            """
            model: kinds
            version: 1
            entities:
              WorkOrder:
                identity: id
                version: updatedAt
                attributes:
                  id:         { type: string }
                  updatedAt:  { type: date, optional: true }
                  name:       { type: string, optional: true }
                  small:      { type: integer16, optional: true }
                  medium:     { type: integer32, optional: true }
                  large:      { type: integer64, optional: true }
                  ratio:      { type: double, optional: true }
                  share:      { type: float, optional: true }
                  price:      { type: decimal, optional: true }
                  isOpen:     { type: boolean, optional: true }
                  happenedAt: { type: date, optional: true }
                  token:      { type: uuid, optional: true }
                  place:      { type: uri, optional: true }
                  picture:    { type: binary, optional: true }
                  extra:      { type: transformable, optional: true }
                  partsCount: { type: integer64, derived: parts.@count }
                relationships:
                  parts: { to: Part, many: true, inverse: order, delete: cascade }
                  owner: { to: Owner, inverse: orders, delete: nullify, optional: true }
              Part:
                identity: number
                attributes:
                  number: { type: integer64 }
                  label:  { type: string, optional: true }
                relationships:
                  order: { to: WorkOrder, inverse: parts, delete: nullify, optional: true }
              Owner:
                identity: key
                attributes:
                  key:  { type: uuid }
                  name: { type: string, optional: true }
                relationships:
                  orders: { to: WorkOrder, many: true, inverse: owner, delete: nullify }
            """)
    }
}

extension ObjectModel {
    /// Shows an event's operations, one text each: `upsert Message m1 version=… body=Hello chat=c1 members=[a, b]`.
    func shown(_ event: ChangeSet) -> [String] { event.operations.map { shown($0) } }

    private func shown(_ operation: ObjectOperation) -> String {
        let entity = entities[operation.entity]
        var parts = [
            operation.kind == .upsert ? "upsert" : "delete", entity.name,
            entity.identity.type.text(of: operation.identity),
        ]
        if let slot = entity.versionSlot, !operation.version.isNull {
            parts.append("version=\(entity.attributes[slot].type.text(of: operation.version))")
        }
        for item in operation.attributes {
            let attribute = entity.attributes[item.slot]
            parts.append("\(attribute.name)=\(attribute.type.text(of: item.value))")
        }
        for item in operation.relationships {
            let relationship = entity.relationships[item.relationship]
            let type = entities[relationship.destinationIndex].identity.type
            func list(_ values: [Value]) -> String { "[\(values.map { type.text(of: $0) }.joined(separator: ", "))]" }
            switch item.change {
            case .one(let value): parts.append("\(relationship.name)=\(type.text(of: value))")
            case .replace(let values): parts.append("\(relationship.name)=\(list(values))")
            case .edit(let add, let remove): parts.append("\(relationship.name)+\(list(add))-\(list(remove))")
            }
        }
        return parts.joined(separator: " ")
    }
}

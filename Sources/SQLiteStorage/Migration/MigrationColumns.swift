import Foundation
import StoreSQL

/// Where a column of a migrated row comes from.
enum ColumnSource {
    /// The column of the old row as it is.
    case column(String)
    /// An expression over the old row `s`.
    case computed(String)
    /// Nothing: null, to be filled later where there is something.
    case empty

    var sql: String {
        switch self {
        case .column(let name): "s.\(SQLText.quoted(name))"
        case .computed(let sql): sql
        case .empty: "NULL"
        }
    }
}

/// Says for each column of a new row how it follows from the old one.
struct MigrationColumns {
    let mapping: ModelMapping
    let expressions: MigrationMapping?
    let functions: MigrationFunctions

    /// A conversion whose rows have to be looked at first.
    struct Conversion {
        let attribute: Attribute
        /// The condition that the old row `s` has a value without counterpart.
        let failure: String
    }

    /// Returns the columns of a new entity's rows, by their names. Other columns of the entity's table stay empty.
    func columns(of entity: Entity, from source: ModelMapping.Source) -> [(name: String, source: ColumnSource)] {
        var columns = entity.attributes.map { ($0.columnName, self.source(of: $0, entity, source)) }
        for relationship in entity.relationships where relationship.slot != nil {
            columns.append(
                (relationship.columnName, directColumn(of: relationship, source).map { .column($0) } ?? .empty))
        }
        for (column, old) in positionColumns(of: entity) { columns.append((column, old.map { .column($0) } ?? .empty)) }
        return columns
    }

    // MARK: Attributes

    private func source(of attribute: Attribute, _ entity: Entity, _ source: ModelMapping.Source) -> ColumnSource {
        let before = source.attributes[attribute.name]
        if attribute.isDerived {
            // It is computed again in the end; what stays the same need not be written twice.
            return before.flatMap { $0.type == attribute.type && $0.isDerived ? .column($0.columnName) : nil } ?? .empty
        }
        let value: ColumnSource
        if let expression = expressions?.expression(for: attribute, of: entity), let old = source.entity {
            value = .computed(call(expression, attribute, old))
        } else if let before {
            value = converted(before, to: attribute)
        } else if attribute.name == HiddenIdentity.name {
            return .computed(functions.call(["s.pk"]) { _ in .blob(UUIDText.random()) })
        } else {
            value = .empty
        }
        let isFilled = before == nil || before?.isOptional == true && !attribute.isOptional
        if attribute.defaultValue.isNull || !isFilled { return value }
        // A placeholder knows nothing but its identity.
        let fallback = attribute.defaultValue
        let constant = functions.call([]) { _ in fallback }
        return .computed("CASE WHEN s._placeholder THEN \(value.sql) ELSE coalesce(\(value.sql), \(constant)) END")
    }

    private func converted(_ before: Attribute, to attribute: Attribute) -> ColumnSource {
        guard let conversion = ValueConversion(from: before.type, to: attribute.type) else { return .empty }
        if conversion.safety == .sameForm { return .column(before.columnName) }
        return .computed(
            functions.call(["s.\(SQLText.quoted(before.columnName))"]) { conversion.converted($0[0]) ?? .null })
    }

    private func call(_ expression: MigrationExpression, _ attribute: Attribute, _ old: Entity) -> String {
        let inputs = Self.inputs(of: expression, old)
        let call = functions.call(inputs.map(\.column)) { values in
            expression.value(Self.operands(inputs, values)).stored(as: attribute.type) ?? .null
        }
        // A placeholder has nothing but its identity.
        return isIdentity(attribute) ? call : "CASE WHEN s._placeholder THEN NULL ELSE \(call) END"
    }

    /// The attributes of an entity whose old values may have no counterpart.
    func conversions(of entity: Entity, from source: ModelMapping.Source) -> [Conversion] {
        entity.attributes.compactMap { attribute in
            if attribute.isDerived { return nil }
            if let expression = expressions?.expression(for: attribute, of: entity), let old = source.entity {
                return Conversion(attribute: attribute, failure: misfit(expression, attribute, old))
            }
            guard let before = source.attributes[attribute.name],
                ValueConversion(from: before.type, to: attribute.type)?.safety == .checked
            else { return nil }
            let column = "s.\(SQLText.quoted(before.columnName))"
            return Conversion(
                attribute: attribute,
                failure: "\(column) IS NOT NULL AND \(converted(before, to: attribute).sql) IS NULL")
        }
    }

    /// The condition that an expression gives a value for which the attribute has no form.
    private func misfit(_ expression: MigrationExpression, _ attribute: Attribute, _ old: Entity) -> String {
        let inputs = Self.inputs(of: expression, old)
        let call = functions.call(inputs.map(\.column)) { values in
            let fits = expression.value(Self.operands(inputs, values)).stored(as: attribute.type) != nil
            return .integer(fits ? 0 : 1)
        }
        return isIdentity(attribute) ? call : "NOT s._placeholder AND \(call)"
    }

    private func isIdentity(_ attribute: Attribute) -> Bool {
        attribute.slot == mapping.new.entities[attribute.entityIndex].identitySlot
    }

    /// A value of an old row that an expression reads.
    private struct Input {
        let name: String
        let column: String
        let type: AttributeType
    }

    private static func inputs(of expression: MigrationExpression, _ old: Entity) -> [Input] {
        expression.names.sorted().compactMap { name in
            if let attribute = old.attribute(named: name) {
                return Input(
                    name: name, column: "s.\(SQLText.quoted(attribute.columnName))", type: attribute.type)
            }
            return name == MigrationMapping.keyName ? Input(name: name, column: "s.pk", type: .integer64) : nil
        }
    }

    private static func operands(_ inputs: [Input], _ values: [Value]) -> [String: Operand] {
        Dictionary(
            zip(inputs, values).map { ($0.name, Operand($1, $0.type)) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Relationships

    /// The old column that holds a to-one relationship's links as they are, or nil.
    func directColumn(of relationship: Relationship, _ source: ModelMapping.Source) -> String? {
        guard let before = source.relationships[relationship.name], let slot = before.slot, let old = source.entity
        else { return nil }
        return old.columnNames[slot]
    }

    /// The columns of positions in a table, each with the old one that holds the same order, or nil.
    private func positionColumns(of entity: Entity) -> [(String, String?)] {
        let new = mapping.new
        return new.entities.flatMap(\.ownRelationships).compactMap { relationship in
            let destination = new.entities[relationship.destinationIndex]
            guard let slot = relationship.positionSlot, destination.rootIndex == entity.rootIndex else { return nil }
            let before = mapping.source(of: relationship)
            let old = before.flatMap { before in
                before.positionSlot.map { mapping.old.entities[before.destinationIndex].columnNames[$0] }
            }
            return (destination.columnNames[slot], old)
        }
    }
}

extension ReadContext {
    /// Writes the store as a text that depends on nothing but its content: no primary keys, no tokens, no times of
    /// writing. Stores that read the same events are equal when their dumps are, whatever their storage.
    ///
    /// Entities come by name, objects by identity; properties as `name=value` in the model's order, relationships as
    /// the identities of their destinations. A to-many relationship without a join table stands with its destinations,
    /// and here too where it is ordered. Then come tombstones, positions and dead-letter records.
    ///
    /// - Parameter write: takes the text in pieces, whole lines each.
    /// - Throws: ``StoreError``.
    public func canonicalDump(write: (String) -> Void) throws {
        let dump = CanonicalDump(context: self)
        for entity in model.entities.sorted(by: { $0.name < $1.name }) { try dump.write(entity, to: write) }
        try dump.writeTombstones(to: write)
        try dump.writePositions(to: write)
        try dump.writeDeadLetters(to: write)
    }
}

/// Writes a store as text, for comparing it with another.
private struct CanonicalDump {
    let context: ReadContext

    private var model: ObjectModel { context.model }
    private static let batchSize = 500

    // MARK: Objects

    func write(_ entity: Entity, to write: (String) -> Void) throws {
        write("entity \(entity.name)\n")
        let identity = "#" + entity.identity.name
        var request = FetchRequest(entity.name)
        request.includesSubentities = false
        request.properties = [identity]
        request.sort = [identity]
        let shown = entity.relationships.filter { relationship in
            if case .inverseColumn = relationship.storage { relationship.isOrdered } else { true }
        }
        try context.batches(request, size: Self.batchSize) { batches in
            while let batch = try batches.next() {
                let keys = batch.map(\.pk)
                let rows = try context.session.storedRows(entity, primaryKeys: keys)
                let rowsByKey = Dictionary(rows.map { ($0.pk, $0) }) { first, _ in first }
                let links = try shown.map { try texts(of: $0, rows) }
                for row in keys.compactMap({ rowsByKey[$0] }) {
                    var text = header(row)
                    for (relationship, texts) in zip(shown, links) {
                        text += "  \(relationship.name)=\(texts[row.pk] ?? (relationship.isToMany ? "[]" : "null"))\n"
                    }
                    write(text)
                }
            }
        }
    }

    private func header(_ row: StoredRow) -> String {
        let entity = row.entity
        var text = "object \(entity.name) \(self.text(row.values[entity.identitySlot], entity.identity.type))"
        text += row.isPlaceholder ? " placeholder\n" : "\n"
        for attribute in entity.attributes {
            text += "  \(attribute.name)=\(self.text(row.values[attribute.slot], attribute.type))\n"
        }
        return text
    }

    /// Returns the identities that a relationship of some rows leads to, as text by the rows' primary keys.
    private func texts(of relationship: Relationship, _ rows: [StoredRow]) throws -> [Int64: String] {
        let destination = model.entities[relationship.destinationIndex]
        func identity(_ row: StoredRow) -> Value { row.values[destination.identitySlot] }
        if let slot = relationship.slot {
            let references = rows.compactMap { row in row.values[slot].integer.map { (row.pk, $0) } }
            let found = try context.session.storedRows(destination, primaryKeys: Set(references.map(\.1)).sorted())
            let identities = Dictionary(found.map { ($0.pk, text(identity($0), destination.identity.type)) }) {
                first, _ in
                first
            }
            return Dictionary(references.map { ($0, identities[$1] ?? "dangling") }) { first, _ in first }
        }
        var lists: [Int64: [Value]] = [:]
        for (owner, row) in try context.session.destinations(relationship, of: rows.map(\.pk)) {
            lists[owner, default: []].append(identity(row))
        }
        return lists.mapValues { list in
            let list = relationship.isOrdered ? list : list.sorted { ValueOrder.compare($0, $1) < 0 }
            return "[" + list.map { text($0, destination.identity.type) }.joined(separator: ", ") + "]"
        }
    }

    /// Texts in quotes, so that every object keeps its lines and null is not 'null'.
    private func text(_ value: Value, _ type: AttributeType) -> String {
        if case .text(let text) = value, type != .decimal { return JSONText.string(text) }
        return type.text(of: value)
    }

    // MARK: The store's own tables

    func writeTombstones(to write: (String) -> Void) throws {
        write("tombstones\n")
        try context.session.tombstones { name, identity, tombstone in
            let entity = model.entity(named: name)
            let versionType = entity?.versionSlot.flatMap { entity?.attributes[$0].type } ?? .string
            let identity = text(identity, entity?.identity.type ?? .string)
            write("  \(name) \(identity) version=\(text(tombstone.version, versionType))\n")
        }
    }

    func writePositions(to write: (String) -> Void) throws {
        write("positions\n")
        for position in try context.positions() {
            let topic = JSONText.string(position.topic)
            write("  \(topic) partition=\(position.partition) nextOffset=\(position.nextOffset)\n")
        }
    }

    func writeDeadLetters(to write: (String) -> Void) throws {
        write("deadLetters\n")
        var lines: [(topic: Value, partition: Int32, offset: Int64, code: String, text: String)] = []
        var last: Int64 = 0
        while true {
            let letters = try context.session.deadLetters(
                DeadLetterSelection(), after: last, limit: Self.batchSize, valueLimit: 0)
            guard let end = letters.last else { break }
            last = end.id
            for letter in letters {
                let (topic, code) = (JSONText.string(letter.topic), JSONText.string(letter.code))
                let text = "  \(topic) partition=\(letter.partition) offset=\(letter.offset) code=\(code)\n"
                lines.append((.text(letter.topic), letter.partition, letter.offset, letter.code, text))
            }
        }
        lines.sort { left, right in
            let order = ValueOrder.compare(left.topic, right.topic)
            return order == 0
                ? (left.partition, left.offset, left.code) < (right.partition, right.offset, right.code) : order < 0
        }
        for line in lines { write(line.text) }
    }
}

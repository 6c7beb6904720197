// Rows, links, tombstones and records beside the events.
extension MemoryTables {
    /// Writes rows and links in the order of the fields.
    ///
    /// - Throws: ``StoreError`` with code `store.constraint` where two rows have the same unique values afterwards.
    mutating func write(_ changes: RowChanges, _ model: ObjectModel) throws(StoreError) {
        var changed: [Int: [Int64: StoredRow?]] = [:]
        let deleted = changes.deletedKeys.mapValues { Set($0) }
        clearReferences(to: deleted, model, &changed)
        for (root, keys) in changes.deletedKeys {
            for key in keys { changed[root, default: [:]].updateValue(nil, forKey: key) }
        }
        for update in changes.vacated + changes.updates { write(update, &changed) }
        for (key, entity) in changes.entityChanges {
            change(entity.rootIndex, key, &changed) { row in
                StoredRow(pk: key, entity: entity, isPlaceholder: row.isPlaceholder, values: row.values)
            }
        }
        for rows in changes.insertions {
            let root = rows.entity.rootIndex
            for (index, key) in rows.keys.enumerated() {
                if (changed[root]?[key] ?? self.rows[root][key]) != nil {
                    throw MemoryRows.taken("\(rows.entity.rootName).pk")
                }
                changed[root, default: [:]][key] = StoredRow(
                    pk: key, entity: rows.entity, isPlaceholder: rows.placeholders[index],
                    values: rows.values[index].array)
            }
        }
        for (root, rows) in changed { try self.rows[root].change(rows, unlessTaken: model.entities[root].name) }
        for link in changes.removedLinks { links[link.table][link.pair] = nil }
        removeLinks(to: deleted, model)
        for link in changes.links { links[link.table][link.pair] = link.places }
    }

    private func write(_ update: RowChanges.Updates, _ changed: inout [Int: [Int64: StoredRow?]]) {
        for (index, key) in update.keys.enumerated() {
            change(update.root, key, &changed) { row in
                var values = row.values
                for slot in update.slots { values[slot] = update.values[index][slot] }
                let isPlaceholder = update.setsPlaceholder ? update.placeholders[index] : row.isPlaceholder
                return StoredRow(pk: key, entity: row.entity, isPlaceholder: isPlaceholder, values: values)
            }
        }
    }

    /// Changes a row that is there, as the earlier changes have left it.
    private func change(
        _ root: Int, _ key: Int64, _ changed: inout [Int: [Int64: StoredRow?]], _ body: (StoredRow) -> StoredRow
    ) {
        let known = changed[root]?[key]
        guard let row = known ?? rows[root][key] else { return }
        changed[root, default: [:]][key] = body(row)
    }

    /// Clears the references that no delete rule has cleared: references of relationships without inverse.
    private func clearReferences(
        to deleted: [Int: Set<Int64>], _ model: ObjectModel, _ changed: inout [Int: [Int64: StoredRow?]]
    ) {
        if deleted.isEmpty { return }
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.inverseIndex == nil {
                guard let slot = relationship.slot,
                    let gone = deleted[model.entities[relationship.destinationIndex].rootIndex]
                else { continue }
                for row in rows[entity.rootIndex].all {
                    guard case .integer(let key) = row.values[slot], gone.contains(key) else { continue }
                    change(entity.rootIndex, row.pk, &changed) { row in
                        var values = row.values
                        values[slot] = .null
                        return StoredRow(
                            pk: row.pk, entity: row.entity, isPlaceholder: row.isPlaceholder, values: values)
                    }
                }
            }
        }
    }

    private mutating func removeLinks(to deleted: [Int: Set<Int64>], _ model: ObjectModel) {
        for join in model.joinTables {
            let owners = deleted[model.entities[join.ownerEntity].rootIndex] ?? []
            let destinations = deleted[model.entities[join.destinationEntity].rootIndex] ?? []
            if owners.isEmpty, destinations.isEmpty { continue }
            links[join.index] = links[join.index].filter {
                !owners.contains($0.key.owner) && !destinations.contains($0.key.destination)
            }
        }
    }

    mutating func write(_ changes: TombstoneChanges) throws(StoreError) {
        if let change = changes.written.first(where: \.identity.isNull) {
            throw StoreError(
                .constraint, "A tombstone of \(change.entity.name) has no identity", remedy: "Correct the event")
        }
        for (entity, identity, tombstone) in changes.written {
            tombstones[entity.rootIndex][identity] = MemoryTombstone(tombstone: tombstone, saved: changes.time)
        }
        for (entity, identity) in changes.removed { tombstones[entity.rootIndex][identity] = nil }
    }

    // MARK: Dead letters and positions

    mutating func write(_ ledger: ChunkLedger) throws(StoreError) {
        for letter in ledger.letters { append(letter) }
        for attempt in ledger.failedAttempts {
            guard let index = deadLetters.firstIndex(where: { $0.id == attempt.id }) else { continue }
            deadLetters[index].attempts += 1
            deadLetters[index].stage = attempt.stage
            deadLetters[index].code = attempt.code
            deadLetters[index].reason = attempt.reason
        }
        let removed = Set(ledger.removedLetters)
        if !removed.isEmpty { deadLetters.removeAll { removed.contains($0.id) } }
        for position in ledger.positions { try put(position) }
    }

    /// Appends a letter; of a record that has one already, another attempt is counted.
    private mutating func append(_ letter: DeadLetter) {
        lastDeadLetterID += 1
        let index = deadLetters.firstIndex { kept in
            kept.offset == letter.offset && kept.partition == letter.partition && kept.topic == letter.topic
                && kept.valueBytes == letter.valueBytes && kept.key == letter.key && kept.headers == letter.headers
                && kept.value == letter.value
        }
        guard let index else {
            var letter = letter
            letter.id = lastDeadLetterID
            deadLetters.append(letter)
            return
        }
        deadLetters[index].attempts += 1
        deadLetters[index].stage = letter.stage
        deadLetters[index].code = letter.code
        deadLetters[index].reason = letter.reason
        deadLetters[index].timestampMilliseconds =
            letter.timestampMilliseconds ?? deadLetters[index].timestampMilliseconds
    }

    private mutating func put(_ position: SourcePosition) throws(StoreError) {
        let index = positions.firstIndex { $0.topic == position.topic && $0.partition == position.partition }
        let isExpected =
            switch position.predecessor {
            case .anything: true
            case .nothing: index == nil
            case .offset(let offset): index.map { positions[$0].nextOffset == offset } ?? false
            }
        guard isExpected else { throw StoreError.positionConflict(position) }
        var stored = SourcePosition(
            topic: position.topic, partition: position.partition, nextOffset: position.nextOffset,
            detail: position.detail)
        stored.predecessor = .anything
        if let index {
            positions[index] = stored
        } else {
            positions.append(stored)
            positions.sort { left, right in
                let order = ValueOrder.compare(.text(left.topic), .text(right.topic))
                return order == 0 ? left.partition < right.partition : order < 0
            }
        }
    }
}

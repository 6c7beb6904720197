import ObjectGraph

@testable import GraphCore

extension ReferenceGraph {
    mutating func delete(_ operation: ObjectOperation) throws {
        try checkKind(key(operation), model.entities[operation.entity])
        if objects[key(operation)] == nil {
            bury(key(operation), operation.version, operation.time)
        } else {
            try delete(key(operation), version: operation.version, time: operation.time)
        }
    }

    mutating func delete(_ root: Key, version: Value, time: Int64?) throws {
        try delete([root], versionOfAll: version, time: time)
    }

    /// Deletes objects together; a version is that of the deletion of all of them.
    mutating func delete(_ roots: Set<Key>, versionOfAll version: Value, time: Int64?) throws {
        var gone = roots
        var size = 0
        while size != gone.count {
            size = gone.count
            for key in gone {
                for relationship in entity(key).relationships where relationship.deleteRule == .cascade {
                    gone.formUnion(destinations(of: key, relationship))
                }
            }
        }
        var isDenied = false
        for key in gone {
            for relationship in entity(key).relationships where relationship.deleteRule == .deny {
                if !gone.isSuperset(of: destinations(of: key, relationship)) {
                    broken.insert(["\(key)", relationship.name, "1600"])
                    isDenied = true
                }
            }
        }
        if isDenied { throw failure }
        for key in gone {
            for relationship in entity(key).relationships where relationship.deleteRule == .nullify {
                guard let inverse = inverse(relationship), case .column(let slot) = inverse.storage else { continue }
                for destination in destinations(of: key, relationship) where !gone.contains(destination) {
                    objects[destination]?.links[slot] = nil
                }
            }
        }
        for key in gone {
            let isRoot = roots.contains(key) && !version.isNull
            bury(key, isRoot ? version : lastVersion(of: key, time), time)
        }
        for key in gone { remove(key) }
    }

    /// Who is buried again is no less dead than before: neither the version nor the time goes back.
    private mutating func bury(_ key: Key, _ version: Value, _ time: Int64?) {
        let before = tombstones[key]
        let isEarlier = before.map { version.isNull || isBefore(version, $0.version) } ?? false
        tombstones[key] = Tombstone(
            version: isEarlier ? before?.version ?? .null : version, time: [time, before?.time].compactMap { $0 }.max())
    }

    /// The object's version, or the time of the deletion where versions are times and it is later.
    private func lastVersion(of key: Key, _ time: Int64?) -> Value {
        let entity = entity(key)
        guard let slot = entity.versionSlot, let version = objects[key]?.attributes[slot] else { return .null }
        guard entity.attributes[slot].type == .date, let time else { return version }
        return isBefore(.integer(time), version) ? version : .integer(time)
    }

    /// Links in join tables go with either end; references without inverse read null.
    private mutating func remove(_ key: Key) {
        guard let reference = reference(key) else { return }
        objects[key] = nil
        pairs = pairs.filter { !isEnd(key, $0.key) }
        for (other, object) in objects {
            for (slot, link) in object.links where link == reference {
                if object.entity.relationships.contains(where: { $0.slot == slot && $0.inverseIndex == nil }) {
                    objects[other]?.links[slot] = nil
                }
            }
        }
    }

    private func isEnd(_ key: Key, _ pair: Pair) -> Bool { pair.owner == key || pair.destination == key }
}

/// The changes of one save: some get a row each, the others share the row of a range.
///
/// Insertions of one entity, and updates of the same properties of one entity, become a range. Deletions keep their
/// rows, which name the identities. They come first: the same save may insert an object of the same identity.
package struct ChangeGroups {
    /// Fewer changes are not worth a range, whose readers look the identities up.
    static let minimumCount = 8

    /// The positions of the changes with a row of their own.
    package private(set) var single: [Int] = []
    package private(set) var ranges: [(entity: Entity, range: HistoryRange)] = []

    /// - Parameter usesRanges: whether changes may share a row.
    package init(_ entries: HistoryEntries, usesRanges: Bool = true) {
        guard usesRanges, entries.count >= Self.minimumCount else {
            single = Array(entries.indices)
            return
        }
        var groups: [Group] = []
        for index in entries.indices {
            let entity = entries[index].object.entity
            // An object of a hierarchy may become one of a sub-entity, and a range finds its objects by their entity.
            if entries[index].kind == .delete || entity.sharesTable {
                single.append(index)
            } else {
                Self.add(index, entity, entries, to: &groups)
            }
        }
        for group in groups { add(group, entries) }
    }

    private struct Group {
        let entity: Entity
        let kind: ChangeKind
        let properties: String?
        var indexes: [Int]
    }

    private static func add(_ index: Int, _ entity: Entity, _ entries: HistoryEntries, to groups: inout [Group]) {
        let (kind, properties) = (entries[index].kind, entries[index].properties)
        // A save changes few combinations of properties.
        let known = groups.indices.first { index in
            groups[index].entity === entity && groups[index].kind == kind && groups[index].properties == properties
        }
        if let known {
            groups[known].indexes.append(index)
        } else {
            groups.append(Group(entity: entity, kind: kind, properties: properties, indexes: [index]))
        }
    }

    private mutating func add(_ group: Group, _ entries: HistoryEntries) {
        if group.indexes.count < Self.minimumCount {
            single += group.indexes
            return
        }
        let keys = group.indexes.map { entries[$0].object.key }.sorted()
        for range in HistoryRange.ranges(of: keys, kind: group.kind, properties: group.properties) {
            ranges.append((group.entity, range))
        }
    }
}

import StoreSQL

// The destinations of to-many relationships that the evaluator asks for, a page of rows at a time.
extension PostgresSnapshot {
    struct RelationshipKey: Hashable {
        let entity: Int
        let index: Int

        init(_ relationship: Relationship) {
            entity = relationship.entityIndex
            index = relationship.index
        }
    }

    /// The place of a destination in the order of its relationship.
    struct DestinationPlace {
        let place: Int64
        let pk: Int64
    }

    /// The first destinations of an owner in their order.
    struct DestinationList {
        var rows: [StoredRow] = []
        /// The last of the rows where there are more.
        var end: DestinationPlace?
    }

    func forEachDestination(
        of object: StoredRow, _ relationship: Relationship, _ each: (StoredRow) throws -> Bool
    ) throws {
        let key = RelationshipKey(relationship)
        let list: DestinationList
        if let known = lists[key]?[object.pk] {
            list = known
        } else {
            list = try firstDestinations(of: object, relationship, key)
        }
        for row in list.rows where try !each(row) { return }
        var last = list.end
        while let place = last {
            let page = try destinations(relationship, of: [object.pk], after: place)
            makeRoom()
            for found in page { keep(found.row) }
            for found in page where try !each(found.row) { return }
            last = page.count < pageLength ? nil : page.last?.place
        }
    }

    /// Reads the first destinations of an object, and as many of the others' in hand as a page holds.
    private func firstDestinations(
        of object: StoredRow, _ relationship: Relationship, _ key: RelationshipKey
    ) throws(StoreError) -> DestinationList {
        makeRoom()
        let known = lists[key] ?? [:]
        let others = loaded[object.entity.rootIndex].keys.filter { known[$0] == nil && $0 != object.pk }
        // The page begins with the object. Whether objects come forwards or backwards, most of those to come are beyond it.
        let later = others.filter { $0 > object.pk }
        let isForward = later.count * 2 >= others.count
        let neighbours = isForward ? later.sorted() : others.filter { $0 < object.pk }.sorted(by: >)
        let owners = [object.pk] + neighbours.prefix(Self.keyLimit - 1)
        let page = try destinations(relationship, of: owners, isForward: isForward)
        var found: [Int64: DestinationList] = [:]
        for each in page {
            found[each.owner, default: DestinationList()].rows.append(each.row)
            keep(each.row)
        }
        var read = owners[...]
        if page.count >= pageLength, let last = page.last {
            found[last.owner]?.end = last.place
            read = owners.prefix { $0 != last.owner } + [last.owner]
        }
        for owner in read { lists[key, default: [:]][owner] = found[owner] ?? DestinationList() }
        return found[object.pk] ?? DestinationList()
    }

    private typealias Destination = (owner: Int64, row: StoredRow, place: DestinationPlace)

    /// Returns a page of destinations by owner, each owner's destinations in their order: by place and key, without a
    /// place first.
    private func destinations(
        _ relationship: Relationship, of owners: [Int64], after last: DestinationPlace? = nil, isForward: Bool = true
    ) throws(StoreError) -> [Destination] {
        let (table, source) = (tables[relationship.destinationIndex], self.source(relationship))
        let place = source.place.map { "coalesce(\($0), \(Int64.min + 1))" }
        let order = ["\(source.owner)\(isForward ? "" : " DESC")"] + (place.map { [$0] } ?? []) + [source.key]
        var query = PostgresQuery()
        let keys = query.parameter(owners)
        query.add("\(source.owner) = ANY(\(keys))")
        if let last, let place {
            let values = (query.parameter(last.place), query.parameter(last.pk))
            query.add("(\(place), \(source.key)) > (\(values.0), \(values.1))")
        } else {
            query.add("\(source.key) >", last?.pk)
        }
        let limit = query.parameter(Int64(pageLength))
        return try all(
            query,
            """
            SELECT \(table.selection("d")), \(source.owner), \(place ?? "0::int8") FROM \(source.from) \
            WHERE \(query.condition) ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit)
            """
        ) { row in
            let (owner, place) = (row.integer(table.width), row.integer(table.width + 1))
            let found = table.row(row)
            return (owner, found, DestinationPlace(place: place, pk: found.pk))
        }
    }

    func source(_ relationship: Relationship) -> DestinationRows {
        DestinationRows(relationship, in: tables[relationship.destinationIndex].name, model)
    }
}

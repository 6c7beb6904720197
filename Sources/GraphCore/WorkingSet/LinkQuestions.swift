/// Questions about links and destinations that are asked together: over a network each ``load()`` is a round trip.
struct LinkQuestions {
    private typealias LinkKey = ObjectRegistry.LinkKey

    private let registry: ObjectRegistry
    private var asked: [(request: ReadRequest, subject: Subject)] = []
    /// The rows to read by their primary keys, by the positions of their roots.
    private var rows: [Int: Set<Int64>] = [:]
    private var exceeded: Set<Int> = []
    private var questionCount = 0

    /// The use of a request's answers.
    private enum Subject {
        /// Rows that are known by themselves.
        case objects
        case places(Relationship)
        case members(of: [LinkKey], Relationship, slot: Int, Bound)
        case links(of: [Int64], table: Int, isOwner: Bool, destination: Int, Bound)
        case states(table: Int, [Pair])
    }

    /// The greatest number of answers to a question, given by its number.
    private struct Bound {
        let question: Int
        let limit: Int?

        /// One more than the limit shows that there are too many.
        var requested: Int? { limit.map { $0 == .max ? $0 : $0 + 1 } }

        func isExceeded(by count: Int) -> Bool { limit.map { count > $0 } ?? false }
    }

    init(_ registry: ObjectRegistry) { self.registry = registry }

    // MARK: Questions

    /// Asks for the destinations of several objects. The rows behind links of a join table come with the load after the
    /// next one.
    ///
    /// - Returns: the question's number for ``exceed(_:)``, or nil where nothing is to be asked.
    @discardableResult
    mutating func ask(_ objects: [ContextObject], _ relationship: Relationship, limit: Int?) -> Int? {
        switch relationship.storage {
        case .column(let slot):
            ask(rows: objects.compactMap { $0.state.values.packed(slot).integer }, of: relationship.destinationIndex)
            return nil
        case .inverseColumn(let slot):
            let keys = registry.unreadLists(of: objects, relationship)
            if keys.isEmpty { return nil }
            let bound = nextBound(limit)
            let owners = RowKeys.values(keys.map { .integer($0.pk) }, slot: slot)
            asked.append(
                (
                    .rows(entity: relationship.destinationIndex, owners, limit: bound.requested),
                    .members(of: keys, relationship, slot: slot, bound)
                ))
            return bound.question
        case .join(let table, let isOwner):
            let pairs = registry.pairs[table]
            let keys = objects.filter { !$0.isNew && !pairs.isLoaded($0.pk, isOwner: isOwner) }.map(\.pk)
            if keys.isEmpty { return nil }
            let bound = nextBound(limit)
            asked.append(
                (
                    .links(table: table, of: keys, isOwnerSide: isOwner, limit: bound.requested),
                    .links(
                        of: keys, table: table, isOwner: isOwner, destination: relationship.destinationIndex, bound)
                ))
            return bound.question
        }
    }

    private mutating func nextBound(_ limit: Int?) -> Bound {
        questionCount += 1
        return Bound(question: questionCount, limit: limit)
    }

    /// Asks for rows of the hierarchy of an entity.
    private mutating func ask(rows keys: some Sequence<Int64>, of entity: Int) {
        let root = registry.roots[entity]
        for key in keys where registry.byKey[root][key] == nil { rows[root, default: []].insert(key) }
    }

    /// Asks which of some links exist, given by the positions of their join tables; lists that are asked for tell as much.
    mutating func ask(pairs: [Set<Pair>]) {
        for (table, pairs) in pairs.enumerated() where !pairs.isEmpty {
            var (owners, destinations) = (Set<Int64>(), Set<Int64>())
            for case .links(let keys, table, let isOwner, _, _) in asked.map(\.subject) {
                if isOwner { owners.formUnion(keys) } else { destinations.formUnion(keys) }
            }
            let unknown = pairs.filter {
                registry.pairs[table].state($0) == nil && !owners.contains($0.owner)
                    && !destinations.contains($0.destination)
            }
            if unknown.isEmpty { continue }
            asked.append((.existingLinks(table: table, Array(unknown)), .states(table: table, Array(unknown))))
        }
    }

    /// Asks who holds some unique values.
    mutating func ask(holders keys: [ObjectRegistry.Unique]) {
        let wanted = Dictionary(grouping: keys.filter { registry.loadedUnique.insert($0).inserted }, by: \.constraint)
        for (index, keys) in wanted.sorted(by: { $0.key < $1.key }) {
            let constraint = registry.model.uniquenessConstraints[index]
            asked.append(
                (.rows(entity: constraint.entityIndex, .unique(keys.map(\.values), constraint)), .objects))
        }
    }

    /// Asks for the last places of several objects in an ordered relationship.
    mutating func ask(placesIn relationship: Relationship, of owners: [ContextObject]) {
        let stored = registry.ownersWithUnreadPlaces(owners, in: relationship)
        if !stored.isEmpty { asked.append((.greatestPlaces(relationship, owners: stored), .places(relationship))) }
    }

    // MARK: Answers

    /// Asks all questions in one plan, and hands the answers to the registry.
    mutating func load() throws(StoreError) {
        for (root, keys) in rows.sorted(by: { $0.key < $1.key }) {
            let missing = keys.filter { registry.byKey[root][$0] == nil }
            if !missing.isEmpty { asked.append((.rows(entity: root, .primaryKeys(missing.sorted())), .objects)) }
        }
        rows = [:]
        let asked = asked
        self.asked = []
        if asked.isEmpty { return }
        var found = [(rows: [PackedRow], links: [(pair: Pair, places: PairPlaces)])](
            repeating: ([], []), count: asked.count)
        let arena = registry.nextArena
        defer { withExtendedLifetime(arena) {} }
        try registry.reader.load(asked.map(\.request), in: arena) { position, answer in
            switch (answer, asked[position].subject) {
            case (.place(let owner, let greatest), .places(let relationship)):
                registry.noteGreatestPlace(greatest, in: relationship, of: owner)
            case (.row(let row), .objects): registry.register(row)
            case (.row(let row), _): found[position].rows.append(row)
            case (.link(let pair, let places), _): found[position].links.append((pair, places))
            case (.tombstone, _), (.place, _): break
            }
        }
        for (position, (_, subject)) in asked.enumerated() {
            take(subject, rows: found[position].rows, links: found[position].links)
        }
    }

    private mutating func take(_ subject: Subject, rows: [PackedRow], links: [(pair: Pair, places: PairPlaces)]) {
        switch subject {
        case .objects, .places: break
        case .members(let keys, let relationship, let slot, let bound):
            if bound.isExceeded(by: rows.count) {
                exceeded.insert(bound.question)
            } else {
                registry.noteMembers(of: keys, relationship, slot: slot, rows)
            }
        case .links(let keys, let table, let isOwner, let destination, let bound):
            if bound.isExceeded(by: links.count) {
                exceeded.insert(bound.question)
                return
            }
            for link in links { registry.pairs[table].noteStored(link.pair, link.places) }
            registry.pairs[table].noteLoaded(keys, isOwner: isOwner)
            ask(rows: links.map { isOwner ? $0.pair.destination : $0.pair.owner }, of: destination)
        case .states(let table, let pairs):
            for link in links { registry.pairs[table].noteStored(link.pair, link.places) }
            for pair in pairs { registry.pairs[table].noteAbsent(pair) }
        }
    }

    /// Whether a question has more answers than its limit. The registry then keeps no answer.
    func exceed(_ question: Int?) -> Bool { question.map { exceeded.contains($0) } ?? false }
}

// One question at a time.
extension ObjectRegistry {
    /// Reads the destinations of several objects at once; returns false where there are more than `limit`.
    @discardableResult
    package func loadDestinations(
        of objects: [ContextObject], _ relationship: Relationship, limit: Int?
    ) throws(StoreError) -> Bool {
        var questions = LinkQuestions(self)
        let question = questions.ask(objects, relationship, limit: limit)
        try questions.load()
        // The rows behind links.
        try questions.load()
        return !questions.exceed(question)
    }

    /// Asks the store which of some links exist.
    package func loadPairStates(_ wanted: some Collection<Pair>, table: Int) throws(StoreError) {
        if wanted.isEmpty { return }
        var pairs = [Set<Pair>](repeating: [], count: self.pairs.count)
        pairs[table] = Set(wanted)
        var questions = LinkQuestions(self)
        questions.ask(pairs: pairs)
        try questions.load()
    }

    /// Tells whether a link exists; `isNew` says that an end is new, so that the store cannot have it.
    func pairState(_ pair: Pair, table: Int, isNew: Bool) throws(StoreError) -> JoinTableRegistry.State {
        if let known = pairs[table].state(pair) { return known }
        if isNew {
            pairs[table].noteAbsent(pair)
        } else {
            try loadPairStates([pair], table: table)
        }
        return pairs[table].state(pair) ?? JoinTableRegistry.State(original: false, current: false)
    }

    /// Looks up who holds some values.
    package func loadHolders(_ keys: [Unique]) throws(StoreError) {
        var questions = LinkQuestions(self)
        questions.ask(holders: keys)
        try questions.load()
    }

    /// Reads the greatest places of several owners at once.
    func loadPlaces(in relationship: Relationship, of owners: [ContextObject]) throws(StoreError) {
        var questions = LinkQuestions(self)
        questions.ask(placesIn: relationship, of: owners)
        try questions.load()
    }
}

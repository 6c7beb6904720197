/// Which derived attributes follow from which changes, worked out once per model.
package struct DerivedPlan {
    /// An aggregate that the objects of one entity feed into their owner. A save hands it on for each change of an object.
    final class Aggregate {
        let node: DerivedNode
        /// The position of the owner's root.
        let root: Int
        /// The slot of the values, or nil for a count.
        let valueSlot: Int?
        let type: AttributeType
        let upkeep: AggregateUpkeep
        /// The aggregate without values; nil for a count and an extreme.
        let beginning: RunningAggregate?

        init(
            node: DerivedNode, root: Int, valueSlot: Int? = nil, type: AttributeType, upkeep: AggregateUpkeep,
            beginning: RunningAggregate? = nil
        ) {
            (self.node, self.root, self.valueSlot) = (node, root, valueSlot)
            (self.type, self.upkeep, self.beginning) = (type, upkeep, beginning)
        }
    }

    /// Aggregates fed through a to-one relationship: the owner is its destination.
    struct ColumnFeed {
        /// The slot of the to-one relationship.
        let slot: Int
        let aggregates: [Aggregate]
    }

    /// Aggregates fed through a join table: aggregates of the objects on its owner side and on its destination side.
    struct JoinFeed {
        var owner: [Aggregate] = []
        var destination: [Aggregate] = []

        var isEmpty: Bool { owner.isEmpty && destination.isEmpty }
    }

    /// A key path over to-one relationships.
    package struct Path {
        package struct Step {
            /// The entity that has the relationship.
            package let entity: Int
            /// The slot of its column.
            package let slot: Int
            package let destination: Int
        }

        package let node: DerivedNode
        package let steps: [Step]
        /// The slot at the end.
        package let slot: Int
        package let transformation: TextTransformation?
    }

    /// A value of one entity that a key path reads on its way, so many steps from its object.
    struct PathReader {
        let slot: Int
        let path: Int
        let depth: Int
    }

    /// Attributes of one rank, which are computed together.
    package struct Level {
        /// Per entity.
        var columnFeeds: [[ColumnFeed]]
        var hasColumnFeeds = false
        /// Per join table.
        var joinFeeds: [JoinFeed]
        var hasJoinFeeds = false
        /// Per entity: slots that follow from the object's own values.
        package var ownSlots: [[Int]]
        var hasOwnSlots = false
        /// Positions among the plan's paths.
        package var paths: [Int] = []
        /// Per entity: the slots of times of change.
        package var timeSlots: [[Int]]
        var hasTimeSlots = false
    }

    /// A value that has to be computed again when another one changes.
    package enum Reader {
        /// An attribute of the same object.
        case own(DerivedNode)
        /// A key path that ends here.
        case path(Int)
        /// An aggregate over a relationship of another object, given by its node.
        case aggregate(DerivedNode)
    }

    package let levels: [Level]
    package let paths: [Path]
    /// Per entity: what key paths read there, past their own object.
    let pathReaders: [[PathReader]]
    /// All derived attributes, each after those it reads.
    package let order: [DerivedNode]
    /// Per entity: the slots of `now()`.
    package let timeSlots: [[Int]]
    /// Per entity: the slots of all derived attributes of its hierarchy; their positions are bits in sets of changed
    /// ones.
    package let derivedSlots: [[Int]]
    private let readers: [DerivedNode: [Reader]]

    /// The attributes that have to be computed again after a value has changed.
    package func readers(of node: DerivedNode) -> [Reader] { readers[node] ?? [] }

    package init(_ model: ObjectModel) {
        let ranks = DerivationOrder(model.entities).levels
        var paths: [Path] = []
        var levels: [Level] = []
        for nodes in ranks {
            var level = Level(
                columnFeeds: Array(repeating: [], count: model.entities.count),
                joinFeeds: model.joinTables.map { _ in JoinFeed() },
                ownSlots: Array(repeating: [], count: model.entities.count),
                timeSlots: Array(repeating: [], count: model.entities.count))
            for node in nodes { level.add(node, model, &paths) }
            level.complete()
            levels.append(level)
        }
        self.levels = levels
        self.paths = paths
        order = ranks.flatMap { $0 }
        timeSlots = model.entities.map { entity in
            entity.attributes.compactMap { if case .now? = $0.derivation { $0.slot } else { nil } }
        }
        derivedSlots = model.entities.map { entity in
            let members = model.entities.filter { $0.rootIndex == entity.rootIndex }
            return Set(members.flatMap(\.attributes).filter(\.isDerived).map(\.slot)).sorted()
        }
        pathReaders = Self.pathReaders(paths, model)
        readers = Self.readers(model, paths)
    }

    private static func pathReaders(_ paths: [Path], _ model: ObjectModel) -> [[PathReader]] {
        var readers: [[PathReader]] = Array(repeating: [], count: model.entities.count)
        for (index, path) in paths.enumerated() {
            for (position, step) in path.steps.enumerated() {
                let next = position + 1 < path.steps.count ? path.steps[position + 1].slot : path.slot
                for member in model.kin(of: step.destination) {
                    readers[member].append(PathReader(slot: next, path: index, depth: position + 1))
                }
            }
        }
        return readers
    }

    private static func readers(_ model: ObjectModel, _ paths: [Path]) -> [DerivedNode: [Reader]] {
        var readers: [DerivedNode: [Reader]] = [:]
        for entity in model.entities {
            for attribute in entity.ownAttributes {
                let node = entity.node(of: attribute.slot)
                switch attribute.derivation {
                case .aggregate(_, let relationship, let slot):
                    let source = model.entities[entity.relationships[relationship].destinationIndex].node(of: slot)
                    readers[source, default: []].append(.aggregate(node))
                case .arithmetic(let expression):
                    for slot in expression.slots { readers[entity.node(of: slot), default: []].append(.own(node)) }
                case .keyPath(let path) where path.relationships.isEmpty:
                    readers[entity.node(of: path.slot), default: []].append(.own(node))
                case .keyPath, .count, .now, nil: break
                }
            }
        }
        for (index, path) in paths.enumerated() {
            guard let last = path.steps.last else { continue }
            readers[model.entities[last.destination].node(of: path.slot), default: []].append(.path(index))
        }
        return readers
    }
}

extension DerivedPlan.Level {
    fileprivate mutating func add(_ node: DerivedNode, _ model: ObjectModel, _ paths: inout [DerivedPlan.Path]) {
        let entity = model.entities[node.entity]
        switch entity.attributes[node.slot].derivation {
        case .count(let relationship), .aggregate(_, let relationship, _):
            addAggregate(DerivedPlan.aggregate(node, model), over: entity.relationships[relationship], model)
        case .keyPath(let path) where !path.relationships.isEmpty:
            var steps: [DerivedPlan.Path.Step] = []
            var last = node.entity
            for index in path.relationships {
                let relationship = model.entities[last].relationships[index]
                guard let slot = relationship.slot else { return }
                steps.append(
                    DerivedPlan.Path.Step(entity: last, slot: slot, destination: relationship.destinationIndex))
                last = relationship.destinationIndex
            }
            self.paths.append(paths.count)
            paths.append(
                DerivedPlan.Path(node: node, steps: steps, slot: path.slot, transformation: path.transformation))
        case .keyPath, .arithmetic: for member in model.kin(of: node.entity) { ownSlots[member].append(node.slot) }
        case .now: for member in model.kin(of: node.entity) { timeSlots[member].append(node.slot) }
        case nil: break
        }
    }

    private mutating func addAggregate(
        _ aggregate: DerivedPlan.Aggregate, over relationship: Relationship, _ model: ObjectModel
    ) {
        switch relationship.storage {
        case .column: break
        case .inverseColumn(let slot):
            for member in model.kin(of: relationship.destinationIndex) { addAggregate(aggregate, to: member, slot) }
        case .join(let table, let isOwner):
            if isOwner {
                joinFeeds[table].owner.append(aggregate)
            } else {
                joinFeeds[table].destination.append(aggregate)
            }
        }
    }

    private mutating func addAggregate(_ aggregate: DerivedPlan.Aggregate, to member: Int, _ slot: Int) {
        let index = columnFeeds[member].firstIndex { $0.slot == slot }
        let known = index.map { columnFeeds[member][$0].aggregates } ?? []
        let feed = DerivedPlan.ColumnFeed(slot: slot, aggregates: known + [aggregate])
        if let index { columnFeeds[member][index] = feed } else { columnFeeds[member].append(feed) }
    }

    fileprivate mutating func complete() {
        hasColumnFeeds = columnFeeds.contains { !$0.isEmpty }
        hasJoinFeeds = joinFeeds.contains { !$0.isEmpty }
        hasOwnSlots = ownSlots.contains { !$0.isEmpty }
        hasTimeSlots = timeSlots.contains { !$0.isEmpty }
    }
}

extension DerivedPlan {
    fileprivate static func aggregate(_ node: DerivedNode, _ model: ObjectModel) -> Aggregate {
        let entity = model.entities[node.entity]
        let attribute = entity.attributes[node.slot]
        let upkeep = AggregateUpkeep(attribute, of: entity, in: model) ?? .rows
        guard case .aggregate(let function, let relationship, let slot)? = attribute.derivation else {
            return Aggregate(node: node, root: entity.rootIndex, type: attribute.type, upkeep: upkeep)
        }
        let source = model.entities[entity.relationships[relationship].destinationIndex].attributes[slot]
        return Aggregate(
            node: node, root: entity.rootIndex, valueSlot: slot, type: attribute.type, upkeep: upkeep,
            beginning: RunningAggregate(function, of: source.type, for: attribute.type))
    }
}

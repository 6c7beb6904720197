import ObjectGraph
import TestSupport

@testable import GraphCore

/// Makes graphs and well-formed predicates at random, few of everything so that they meet.
struct RandomPredicates {
    /// What kinds of value an attribute has.
    enum Kind: CaseIterable {
        case text, whole, real, decimal, date, flag, code

        var isNumber: Bool { self == .whole || self == .real || self == .decimal }
        var hasOrder: Bool { self != .flag && self != .code }
    }

    static let model = """
        model: random
        entities:
          Item:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              note: { type: string, optional: true }
              size: { type: integer32, optional: true }
              ratio: { type: double, optional: true }
              price: { type: decimal, optional: true }
              at: { type: date, optional: true }
              flag: { type: boolean, optional: true }
              code: { type: uuid, optional: true }
            relationships:
              box: { to: Box, inverse: items, optional: true }
              parent: { to: Item, inverse: children, optional: true }
              children: { to: Item, many: true, inverse: parent }
              tags: { to: Tag, many: true, inverse: items }
          Box:
            identity: id
            attributes: { id: { type: string }, name: { type: string, optional: true }, size: { type: integer32, optional: true } }
            relationships: { items: { to: Item, many: true, inverse: box } }
          Tag:
            identity: id
            attributes: { id: { type: string }, name: { type: string, optional: true }, price: { type: decimal, optional: true } }
            relationships: { items: { to: Item, many: true, inverse: tags } }
        """

    static let attributes: [String: [(name: String, kind: Kind)]] = [
        "Item": [
            ("id", .text), ("name", .text), ("note", .text), ("size", .whole), ("ratio", .real), ("price", .decimal),
            ("at", .date), ("flag", .flag), ("code", .code),
        ],
        "Box": [("id", .text), ("name", .text), ("size", .whole)],
        "Tag": [("id", .text), ("name", .text), ("price", .decimal)],
    ]
    static let toOne: [String: [(name: String, entity: String)]] = ["Item": [("box", "Box"), ("parent", "Item")]]
    static let toMany: [String: [(name: String, entity: String)]] = [
        "Item": [("children", "Item"), ("tags", "Tag")], "Box": [("items", "Item")], "Tag": [("items", "Item")],
    ]
    static let identities = [
        "Item": ["i1", "i2", "i3", "i4", "i5", "i6"], "Box": ["b1", "b2"], "Tag": ["t1", "t2", "t3"],
    ]

    /// Letters that fold to others and ones that do not, and what has a meaning elsewhere.
    private static let texts = [
        "", "a", "A", "ab", "AB", "aB", "é", "É", "e", "ßa", "ssa", "sSa", "ø", "Ø", "ü", "a*b", "a?b", "[a]", "%",
        "_a",
        "it's", "\"a\"", "' OR 1=1 --", "b; DROP TABLE Item", "ba", "éa",
    ]
    private static let codes = ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000001"]
    private static let day: Int64 = 86_400_000_000
    static let now: Int64 = 20_000 * day

    var random: SeededRandom
    private var variableCount = 0

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.number(below: elements.count)] }

    mutating func chance(_ percent: Int) -> Bool { random.number(below: 100) < percent }

    // MARK: Graphs

    mutating func graph() -> MemoryGraph {
        var graph = MemoryGraph()
        graph.now = Self.now
        for (entity, ids) in Self.identities.sorted(by: { $0.key < $1.key }) {
            for id in ids {
                var object = MemoryGraph.Object()
                for (name, kind) in Self.attributes[entity] ?? [] where name != "id" && !chance(25) {
                    object.values[name] = value(kind)
                }
                object.values["id"] = .text(id)
                for (name, _) in Self.toMany[entity] ?? [] { object.toMany[name] = [] }
                graph.objects[MemoryGraph.Key(entity: entity, id: id)] = object
            }
        }
        for id in Self.identities["Item"] ?? [] {
            let item = MemoryGraph.Key(entity: "Item", id: id)
            if !chance(30) {
                link(item, "box", MemoryGraph.Key(entity: "Box", id: pick(["b1", "b2"])), "items", &graph)
            }
            if !chance(40) {
                link(
                    item, "parent", MemoryGraph.Key(entity: "Item", id: pick(Self.identities["Item"] ?? [])),
                    "children", &graph)
            }
            for tag in ["t1", "t2", "t3"] where chance(40) {
                let key = MemoryGraph.Key(entity: "Tag", id: tag)
                graph.objects[item]?.toMany["tags"]?.append(key)
                graph.objects[key]?.toMany["items"]?.append(item)
            }
        }
        return graph
    }

    private func link(
        _ item: MemoryGraph.Key, _ name: String, _ destination: MemoryGraph.Key, _ inverse: String,
        _ graph: inout MemoryGraph
    ) {
        graph.objects[item]?.toOne[name] = destination
        graph.objects[destination]?.toMany[inverse]?.append(item)
    }

    private mutating func value(_ kind: Kind) -> MemoryValue {
        switch kind {
        case .text: .text(pick(Self.texts))
        case .whole: .whole(Int64(random.number(below: 7)) - 2)
        case .real: .real(Double(random.number(below: 9)) / 2 - 1)
        case .decimal: .decimal(DecimalText.number(pick(["0", "1", "1.5", "-2.25", "10", "9", "0.1"])) ?? 0)
        case .date: .date(Self.now + Int64(random.number(below: 5) - 2) * Self.day)
        case .flag: .flag(chance(50))
        case .code: .uuid(UUIDText.bytes(pick(Self.codes)) ?? [])
        }
    }

    /// The events that make a store of a graph.
    static func events(_ graph: MemoryGraph, _ model: ObjectModel) -> [ChangeSet] {
        graph.objects.sorted { ($0.key.entity, $0.key.id) < ($1.key.entity, $1.key.id) }.map { key, object in
            var said: [String: ReadingFixture.Said] = [:]
            for (name, value) in object.values where name != "id" { said[name] = .text(text(value)) }
            for (name, destination) in object.toOne { said[name] = .one(destination.id) }
            if key.entity == "Item" { said["tags"] = .many((object.toMany["tags"] ?? []).map(\.id)) }
            return ReadingFixture.upsert(model, key.entity, key.id, said)
        }
    }

    private static func text(_ value: MemoryValue) -> String {
        switch value {
        case .text(let text): text
        case .whole(let number): String(number)
        case .real(let number): "\(number)"
        case .decimal(let number): DecimalText.text(number)
        case .flag(let flag): flag ? "true" : "false"
        case .date(let time): Timestamp.text(time)
        case .uuid(let bytes): UUIDText.text(bytes) ?? ""
        case .null, .object, .literal: ""
        }
    }

    // MARK: Predicates

    /// Where a path may begin: the object itself, or a subquery's variable.
    struct Place {
        let root: String?
        let entity: String
    }

    mutating func predicate(depth: Int = 3) -> FetchPredicate {
        predicate([Place(root: nil, entity: "Item")], depth)
    }

    private mutating func predicate(_ places: [Place], _ depth: Int) -> FetchPredicate {
        guard depth > 0, chance(60) else { return chance(3) ? .constant(chance(50)) : comparison(places, depth) }
        switch random.number(below: 5) {
        case 0, 1: return .and((0...random.number(below: 2) + 1).map { _ in predicate(places, depth - 1) })
        case 2, 3: return .or((0...random.number(below: 2) + 1).map { _ in predicate(places, depth - 1) })
        default: return .not(predicate(places, depth - 1))
        }
    }

    private mutating func comparison(_ places: [Place], _ depth: Int) -> FetchPredicate {
        let made: FetchPredicate.Comparison =
            switch random.number(below: 12) {
            case 0, 1: quantified(places)
            case 2: counted(places)
            case 3: aggregated(places)
            case 4 where depth > 0: subquery(places, depth)
            case 5, 6: ofObjects(places)
            default: ofValues(places)
            }
        return .comparison(made)
    }

    /// Relationships to one object from a place, then the entity where they end.
    private mutating func steps(_ place: Place, most: Int) -> (names: [String], entity: String) {
        var (names, entity) = ([String](), place.entity)
        for _ in 0..<random.number(below: most + 1) {
            guard let steps = Self.toOne[entity] else { break }
            let step = pick(steps)
            names.append(step.name)
            entity = step.entity
        }
        return (names, entity)
    }

    private mutating func attributePath(_ kind: Kind, _ places: [Place]) -> PropertyPath {
        while true {
            let place = pick(places + [Place(root: nil, entity: "Item")])
            let (names, entity) = steps(place, most: 2)
            let fitting = (Self.attributes[entity] ?? []).filter { $0.kind == kind }
            if !fitting.isEmpty { return PropertyPath(names: names + [pick(fitting).name], root: place.root) }
        }
    }

    private mutating func manyPath(_ places: [Place], prefix: Int = 1) -> (path: PropertyPath, entity: String) {
        let place = pick(places)
        let (names, entity) = steps(place, most: prefix)
        let step = pick(Self.toMany[entity] ?? [])
        return (PropertyPath(names: names + [step.name], root: place.root), step.entity)
    }

    // MARK: Sides

    private mutating func literal(_ kind: Kind) -> FetchPredicate.Expression {
        switch value(kind) {
        case .text(let text): .text(text)
        case .whole(let number): chance(15) ? .literal(Literal(.number("\(number).5"))) : .number(number)
        case .real(let number): .literal(Literal(.number("\(number)")))
        case .decimal(let number): .literal(Literal(.number(DecimalText.text(number))))
        case .date(let time): .date(time)
        case .flag(let flag): .boolean(flag)
        case .uuid(let bytes): .literal(Literal(.uuid(bytes)))
        case .null, .object, .literal: .null
        }
    }

    private mutating func expression(_ kind: Kind, _ places: [Place]) -> FetchPredicate.Expression {
        let path = FetchPredicate.Expression.path(attributePath(kind, places))
        guard chance(30) else { return path }
        switch kind {
        case .text:
            return .function(FetchPredicate.FunctionCall(pick(["lowercase", "uppercase", "canonical"]), [path]))
        case .whole, .real, .decimal:
            if chance(20) { return .negated(path) }
            let other = chance(50) ? literal(kind) : .path(attributePath(kind, places))
            return .arithmetic(path, pick(FetchPredicate.ArithmeticOperator.allCases), other)
        case .date:
            let seconds = FetchPredicate.Expression.literal(Literal(.number(pick(["86400", "0.5", "-172800"]))))
            return .arithmetic(path, chance(50) ? .add : .subtract, seconds)
        case .flag, .code: return path
        }
    }

    /// A relation and a right side for a left side of a kind.
    private mutating func opposite(
        _ kind: Kind, _ places: [Place]
    ) -> (FetchPredicate.Relation, FetchPredicate.Expression, FetchPredicate.TextOptions) {
        let options =
            kind == .text && chance(50) ? FetchPredicate.TextOptions(rawValue: 1 + random.number(below: 3)) : []
        var relations: [FetchPredicate.Relation] = [.equal, .notEqual, .contained]
        if kind.hasOrder { relations += [.less, .lessOrEqual, .greater, .greaterOrEqual, .between] }
        if kind == .text { relations += [.beginsWith, .contains, .endsWith, .like, .matches] }
        let relation = pick(relations)
        switch relation {
        case .contained:
            let list = (0..<random.number(below: 4)).map { _ in chance(15) ? .null : literal(kind) }
            return (relation, .list(list), options)
        case .between: return (relation, .list([literal(kind), literal(kind)]), options)
        case .like:
            return (relation, .text(pick(["*", "a*", "?b", "*a*", "[a]", "", "a?b", "*B", "e*", "ss?"])), options)
        case .matches: return (relation, .text(pick(["a.*", "[aA]b?", ".*", "", "b|a", "[^a]+"])), options)
        default:
            if chance(8), relation == .equal || relation == .notEqual { return (relation, .null, options) }
            if chance(65) { return (relation, literal(kind), options) }
            let other = kind.isNumber ? pick([Kind.whole, .real, .decimal]) : kind
            return (relation, expression(other, places), options)
        }
    }

    // MARK: Comparisons

    private mutating func ofValues(_ places: [Place]) -> FetchPredicate.Comparison {
        let kind = pick(Kind.allCases)
        let (relation, right, options) = opposite(kind, places)
        let left = expression(kind, places)
        let turns = relation == .beginsWith || relation == .contains || relation == .endsWith
        if turns, chance(20), case .literal = right {
            return FetchPredicate.Comparison(right, relation, left, options: options)
        }
        return FetchPredicate.Comparison(left, relation, right, options: options)
    }

    private mutating func ofObjects(_ places: [Place]) -> FetchPredicate.Comparison {
        let place = pick(places)
        let (names, entity) = steps(place, most: 2)
        let left = FetchPredicate.Expression.path(PropertyPath(names: names, root: place.root))
        let (relation, right) = object(entity, places)
        return FetchPredicate.Comparison(left, relation, right)
    }

    private mutating func object(
        _ entity: String, _ places: [Place]
    ) -> (FetchPredicate.Relation, FetchPredicate.Expression) {
        let ids = (Self.identities[entity] ?? []) + ["nobody"]
        if chance(25) {
            return (.contained, .list((0..<random.number(below: 4)).map { _ in chance(20) ? .null : .text(pick(ids)) }))
        }
        let relation: FetchPredicate.Relation = chance(70) ? .equal : .notEqual
        if chance(15) { return (relation, .null) }
        if chance(20), let same = places.first(where: { $0.entity == entity }) {
            return (relation, .path(PropertyPath(names: [], root: same.root)))
        }
        return (relation, .text(pick(ids)))
    }

    private mutating func quantified(_ places: [Place]) -> FetchPredicate.Comparison {
        let quantifier = pick([FetchPredicate.Quantifier.any, .all, .none])
        let (path, entity) = manyPath(places)
        if chance(25) {
            let (relation, right) = object(entity, places)
            return FetchPredicate.Comparison(.path(path), relation, right, quantifier: quantifier)
        }
        if chance(15), let next = Self.toMany[entity]?.first {
            let counted = PropertyPath(names: path.names + [next.name], function: "count", root: path.root)
            return FetchPredicate.Comparison(.path(counted), .greater, .number(1), quantifier: quantifier)
        }
        let inner = pick(Self.attributes[entity] ?? [])
        let (relation, right, options) = opposite(inner.kind, places)
        let left = PropertyPath(names: path.names + [inner.name], root: path.root)
        return FetchPredicate.Comparison(
            .path(left), relation, right, quantifier: quantifier, options: options)
    }

    private mutating func counted(_ places: [Place]) -> FetchPredicate.Comparison {
        var (path, _) = manyPath(places)
        path.function = "count"
        let relation = pick([FetchPredicate.Relation.equal, .notEqual, .less, .greaterOrEqual])
        return FetchPredicate.Comparison(.path(path), relation, .number(Int64(random.number(below: 4))))
    }

    private mutating func aggregated(_ places: [Place]) -> FetchPredicate.Comparison {
        let (path, entity) = manyPath(places)
        let fitting = (Self.attributes[entity] ?? []).filter { $0.kind.isNumber }
        let inner = pick(fitting)
        let aggregate = PropertyPath(
            names: path.names + [inner.name], function: pick(["sum", "min", "max", "avg"]), root: path.root)
        let relation = pick([FetchPredicate.Relation.less, .greater, .equal, .notEqual])
        let right = relation == .equal && chance(30) ? .null : literal(inner.kind)
        return FetchPredicate.Comparison(.path(aggregate), relation, right)
    }

    private mutating func subquery(_ places: [Place], _ depth: Int) -> FetchPredicate.Comparison {
        let (path, entity) = manyPath(places, prefix: 1)
        variableCount += 1
        let variable = "v\(variableCount)"
        let inner = predicate([Place(root: variable, entity: entity)] + places, depth - 1)
        var aggregate = PropertyPath(names: [], function: "count")
        let numbers = (Self.attributes[entity] ?? []).filter { $0.kind == .whole || $0.kind == .decimal }
        if chance(30), !numbers.isEmpty { aggregate = PropertyPath(names: [pick(numbers).name], function: "sum") }
        return FetchPredicate.Comparison(
            .subquery(FetchPredicate.Subquery(path, variable, inner, aggregate: aggregate)),
            pick([.equal, .greater, .less]), .number(Int64(random.number(below: 3))))
    }
}

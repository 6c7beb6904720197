extension SQLiteSnapshot: RequestExplainer {
    package func explain(_ request: CheckedFetchRequest, counting: Bool) throws -> FetchExplanation {
        let output: FetchQuery.Output =
            counting ? .count : request.isOfRows ? .rows : .objects(withOrder: false)
        let query = try FetchQuery(request, output: output, now: request.time)
        let plan = try all("EXPLAIN QUERY PLAN " + query.sql, query.bindings) {
            PlanLine(id: $0.integer(0), parent: $0.integer(1), detail: $0.text(3))
        }
        return PlanReader(plan, tables: query.tables).explanation(query)
    }
}

/// A line of EXPLAIN QUERY PLAN.
struct PlanLine {
    let id: Int64
    let parent: Int64
    let detail: String
}

/// Puts SQLite's plans into words.
struct PlanReader {
    private let plan: [PlanLine]
    private let tables: [String: String]

    init(_ plan: [PlanLine], tables: [String: String]) {
        self.plan = plan
        self.tables = tables
    }

    func explanation(_ query: FetchQuery) -> FetchExplanation {
        var depths: [Int64: Int] = [:]
        var steps: [String] = []
        for line in plan {
            let depth = (depths[line.parent] ?? -1) + 1
            depths[line.id] = depth
            steps.append(String(repeating: "  ", count: depth) + words(line.detail))
        }
        let ofRoot = plan.first { $0.detail.hasPrefix("SEARCH t1 ") || $0.detail.hasPrefix("SCAN t1") }
        let usesIndex = ofRoot.map { $0.detail.hasPrefix("SEARCH") || $0.detail.contains("INDEX") } ?? false
        // A count has its rows from an inner query.
        let inner = plan.first { $0.detail.hasPrefix("CO-ROUTINE") || $0.detail.hasPrefix("MATERIALIZE") }?.id ?? 0
        let sorts = plan.contains {
            ($0.parent == 0 || $0.parent == inner) && $0.detail.hasPrefix("USE TEMP B-TREE FOR")
        }
        return FetchExplanation(
            sql: query.sql, valueCount: query.bindings.count, steps: steps, usesIndex: usesIndex, sorts: sorts)
    }

    private func words(_ detail: String) -> String {
        let parts = detail.split(separator: " ").map { String($0) }
        guard parts.count > 1 else { return detail }
        let table = tables[parts[1]] ?? Self.linkTable(parts[1], tables) ?? parts[1]
        switch parts[0] {
        case "CO-ROUTINE", "MATERIALIZE": return "make the rows:"
        case "SCAN" where parts[1].hasPrefix("(subquery"): return "count them"
        case "SCAN":
            guard let index = index(detail) else { return "read all rows of \(table)" }
            return "read \(table) in the order of the index \(index)"
        case "SEARCH":
            guard let index = index(detail) else {
                return "find rows of \(table) by \(detail.contains("PRIMARY KEY") ? "their key" : detail)"
            }
            if detail.contains("AUTOMATIC") { return "find rows of \(table) by an index that is made for this request" }
            return "find rows of \(table) by the index \(index)"
        case "USE" where detail.hasPrefix("USE TEMP B-TREE FOR "):
            let purpose = detail.dropFirst("USE TEMP B-TREE FOR ".count)
            switch purpose {
            case "ORDER BY": return "sort them: no index serves the order"
            case "GROUP BY": return "sort them into groups: no index serves the grouping"
            case "DISTINCT": return "remember what was there to leave out repeats"
            default: return "sort them by the rest of the order: an index serves its beginning"
            }
        case "CORRELATED": return "for each of them:"
        case "LIST", "SCALAR": return "once before:"
        default: return detail
        }
    }

    /// The name behind INDEX, which stands before the columns in parentheses.
    private func index(_ detail: String) -> String? {
        guard let range = detail.firstRange(of: "INDEX ") else { return nil }
        let rest = detail[range.upperBound...]
        if rest.hasPrefix("(") { return "" }
        return rest.firstRange(of: " (").map { String(rest[..<$0.lowerBound]) } ?? String(rest)
    }

    /// The tables of links have their objects' alias with a letter behind it.
    private static func linkTable(_ alias: String, _ tables: [String: String]) -> String? {
        if alias == "l" { return "the links" }
        guard alias.hasSuffix("j"), let table = tables[String(alias.dropLast())] else { return nil }
        return "the links to \(table)"
    }
}

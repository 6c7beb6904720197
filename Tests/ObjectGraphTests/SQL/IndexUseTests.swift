import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Which fetch requests a model's partial and expression indexes serve, and that they find the same objects.
@Suite struct IndexUseTests {
    private func graph(_ index: String) throws -> Graph { try Graph(yaml: Models.indexed(index)) }

    private func partial(_ condition: String) throws -> Graph {
        try graph("{ name: part, on: [title], where: '\(condition.replacingOccurrences(of: "'", with: "''"))' }")
    }

    private func plan(_ graph: Graph, _ condition: String, counting: Bool = false) throws -> FetchExplanation {
        try graph.store.read { try $0.explain(FetchRequest("Chat", where: condition), counting: counting) }
    }

    private func find(_ graph: Graph, _ condition: String) throws -> [String] {
        try graph.store.read { context in
            try context.fetch(FetchRequest("Chat", where: condition)).compactMap { $0["id"]?.text }
        }
    }

    // MARK: Partial indexes

    /// Conditions that an index may have, each said in a request beside the comparison that the index is for.
    static let conditions = [
        "isDone == NO", "isDone == YES AND size > 3", "title != nil", "owner = nil", "owner != nil",
        "kind = 'a' OR kind = 'b' OR size = 2", "kind IN {'a', 'b'}", "kind = \"it's\" OR kind IN {'a', 'b'}",
        "size BETWEEN {1, 9}", "sentAt >= '1970-01-01T00:00:01Z'", "NOT size < 2", "price = 2.50", "kind != 'a'",
        "size = 1 OR (kind = 'a' AND isDone = YES)", "NOT (kind = 'a' OR size > 2)",
    ]

    @Test(arguments: conditions) func `a request that says the condition uses the partial index`(_ condition: String)
        throws
    {
        let graph = try partial(condition)
        let request = "(\(condition)) AND title = 'x'"
        let plan = try plan(graph, request)
        #expect(plan.usesIndex && plan.steps.contains { $0.contains("Chat:part") }, "\(plan.text)")
        #expect(try self.plan(graph, request, counting: true).steps.contains { $0.contains("Chat:part") })
    }

    /// A list or range stands in a statement only as the model itself has it: other values are bound.
    @Test func `only the model's own lists are written out`() throws {
        let graph = try partial("kind IN {'a', 'b'} AND size BETWEEN {1, 9}")
        let same = try plan(graph, "kind IN {'a', 'b'} AND size BETWEEN {1, 9} AND title = 'x'")
        #expect(same.steps.contains { $0.contains("Chat:part") } && same.valueCount == 1)
        let other = try plan(graph, "kind IN {'b', 'a'} AND size BETWEEN {1, 90} AND title = 'x'")
        #expect(!other.sql.contains("'b'") && !other.sql.contains("90") && other.valueCount == 5)
    }

    @Test func `a comparison of an attribute implies that it has a value`() throws {
        let graph = try partial("title != nil")
        #expect(try plan(graph, "title = 'x'").steps.contains { $0.contains("Chat:part") })
        #expect(try !plan(graph, "title = nil").steps.contains { $0.contains("Chat:part") })
    }

    @Test(arguments: [
        ("isDone == NO", "isDone = YES"), ("size > 3", "size > 2"), ("kind IN {'a', 'b'}", "kind IN {'a', 'c'}"),
        ("kind = 'a' OR kind = 'b'", "kind = 'a' OR kind = 'c'"), ("size BETWEEN {1, 9}", "size BETWEEN {0, 9}"),
    ]) func `a request that does not imply the condition does without it`(_ condition: String, _ request: String) throws
    {
        let plan = try plan(try partial(condition), "(\(request)) AND title = 'x'")
        #expect(!plan.steps.contains { $0.contains("Chat:part") }, "\(plan.text)")
    }

    private func fill(_ graph: Graph, titles: [String]) throws {
        var index = 0
        for title in titles {
            for kind in ["a", "b", "c", "it's", nil] {
                index += 1
                var values: [String: Value] = [
                    "title": .text(title), "size": .integer(Int64(index % 5)), "isDone": .integer(Int64(index % 2)),
                ]
                if let kind { values["kind"] = .text(kind) }
                if index % 3 == 0 { values["price"] = .text("2.5") }
                if index % 4 == 0 { values["sentAt"] = .integer(Int64(index) * 100_000) }
                let context = try EditingContext(graph.writer)
                let chat = try context.insert("Chat", identity: "c\(index)")
                for (name, value) in values { try chat.set(name, value) }
                if index % 2 == 0 { try chat.setObject("owner", chat) }
                try context.save()
            }
        }
    }

    /// A partial index holds the rows of its condition and no others: with it a request finds what it finds without.
    @Test func `requests find the same with a partial index and without`() throws {
        let plain = try graph("")
        try fill(plain, titles: ["x", "y"])
        for condition in Self.conditions {
            let graph = try partial(condition)
            try fill(graph, titles: ["x", "y"])
            for request in Self.conditions {
                let text = "(\(request)) AND title = 'x'"
                #expect(try find(graph, text) == find(plain, text), "\(text) where \(condition)")
            }
            #expect(try graph.damage() == "")
        }
    }

    // MARK: Expression indexes

    @Test(arguments: [
        ("lowercase:(title)", "lowercase:(title) = 'pump 7'"), ("lowercase:(title)", "lowercase(title) = 'door'"),
        ("canonical:(title)", "lowercase:(title) = 'pump 7'"), ("lowercase:(title)", "'pump' = lowercase:(title)"),
        ("lowercase:(title)", "lowercase:(title) IN {'pump', 'door'}"),
        ("lowercase:(title)", "lowercase:(title) BEGINSWITH 'pum'"),
        ("lowercase:(title)", "lowercase:(title) = 'gemüt'"), ("lowercase:(title)", "lowercase:(title) = 'pumpkin'"),
        ("uppercase:(title)", "uppercase:(title) = 'PUMP'"), ("uppercase:(title)", "uppercase:(title) = 'PUMPS'"),
    ]) func `a request for a transformed text uses the index on it`(_ expression: String, _ request: String) throws {
        let graph = try graph("{ name: folded, on: [{ expression: '\(expression)' }] }")
        let plan = try plan(graph, request)
        #expect(plan.usesIndex && plan.steps.contains { $0.contains("Chat:folded") }, "\(plan.text)")
        #expect(try !self.plan(try self.graph(""), request).sql.contains("lower("))
    }

    /// What docs/reference/model.md says no expression index serves.
    @Test(arguments: [
        "lowercase:(title) = 'kelvin'", "lowercase:(title) = 'über'", "canonical:(title) = 'pump'",
        "title =[c] 'pump'", "lowercase:(title) != 'pump'", "lowercase:(title) IN {'pump', 'kelvin'}",
        "lowercase:(owner.title) = 'pump'", "lowercase:(title) = kind",
    ]) func `rows outside a partial index are read without it`(_ request: String) throws {
        let graph = try graph("{ name: folded, on: [{ expression: 'lowercase:(title)' }] }")
        #expect(try !plan(graph, request).steps.contains { $0.contains("Chat:folded") })
        let sorted = try graph.store.read { context in
            var request = FetchRequest("Chat")
            request.sort = ["lowercase:(title)"]
            return try context.explain(request)
        }
        #expect(sorted.sorts)
    }

    /// Letters beyond ASCII that become ASCII letters are found too.
    @Test func `requests find the same with an expression index and without`() throws {
        let titles = [
            "pump", "Pump", "PUMP", "pumpkin", "Pump\u{212A}in", "\u{212A}elvin", "Kelvin", "\u{130}zmir", "izmir",
            "i\u{307}zmir", "Stra\u{df}e", "STRASSE", "\u{17f}ea", "Sea", "\u{fb01}n", "Fin", "m\u{131}st", "Mist",
            "\u{1f0}o", "J\u{30c}o", "T\u{fc}rk", "t\u{dc}rk", "\u{dc}ber", "",
        ]
        let plain = try graph("")
        let lower = try graph("{ on: [{ expression: 'lowercase:(title)' }] }")
        let upper = try graph("{ on: [{ expression: 'uppercase:(title)' }] }")
        for graph in [plain, lower, upper] { try fill(graph, titles: titles) }
        for title in titles {
            for (function, text) in [("lowercase", title.lowercased()), ("uppercase", title.uppercased())] {
                for text in [text, String(text.prefix(2))] {
                    for condition in [
                        "\(function):(title) = '\(text)'", "\(function):(title) BEGINSWITH '\(text)'",
                        "\(function):(title) IN {'\(text)', 'pump', 'DOOR'}", "NOT \(function):(title) = '\(text)'",
                        "\(function):(title) IN {'\(text)', nil}", "\(function):(title) != '\(text)'",
                    ] {
                        let expected = try find(plain, condition)
                        #expect(try find(lower, condition) == expected, "\(condition)")
                        #expect(try find(upper, condition) == expected, "\(condition)")
                    }
                }
            }
        }
    }

    /// The rule that the added condition rests on, for all letters that there are.
    @Test func `the beginning in ASCII comes of ASCII letters alone`() {
        for transformation in [TextTransformation.lowercase, .uppercase] {
            for code in UInt32(0x80)...0x10FFFF {
                guard let scalar = Unicode.Scalar(code) else { continue }
                let text =
                    transformation == .lowercase
                    ? scalar.properties.lowercaseMapping : scalar.properties.uppercaseMapping
                if text.unicodeScalars.first?.isASCII == true {
                    #expect(transformation.asciiBeginning(of: text) == "", "\(transformation) of U+\(code)")
                }
            }
        }
    }

    // MARK: Counting

    @Test func `a count is explained as a count`() throws {
        let graph = try graph("[title]")
        let count = try plan(graph, "title = 'x'", counting: true)
        #expect(count.sql.hasPrefix("SELECT count(*) FROM \"Chat\" t1") && count.usesIndex && !count.sorts)
        let rows = try graph.store.read { context in
            var request = FetchRequest("Chat", where: "size > 1")
            request.properties = ["kind", "count() AS chats"]
            request.groupBy = ["kind"]
            request.sort = ["-chats"]
            return try context.explain(request, counting: true)
        }
        #expect(rows.sql.hasPrefix("SELECT count(*) FROM (SELECT") && !rows.sql.contains("ORDER BY"))
        #expect(rows.sorts && rows.steps.first == "make the rows:", "\(rows.text)")
        #expect(rows.steps.contains("count them"))
    }
}

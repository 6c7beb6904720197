import Testing

@testable import GraphCore
@testable import SQLiteStorage
@testable import StoreSQL

/// SQL that carries the values of its parameters, as each engine renders it.
@Suite struct SQLFragmentTests {
    private func numbered(_ fragment: SQLFragment) -> String { fragment.text { number, _ in "$\(number)" } }

    @Test func `parameters keep their order through other fragments`() {
        let inner: SQLFragment = "b = \(bind: "x") AND c > \(bind: 3)"
        let outer: SQLFragment = "SELECT \("a") FROM t WHERE a = \(bind: 1) AND (\(inner)) LIMIT \(bind: 5)"
        #expect(numbered(outer) == "SELECT a FROM t WHERE a = $1 AND (b = $2 AND c > $3) LIMIT $4")
        #expect(outer.sql == "SELECT a FROM t WHERE a = ? AND (b = ? AND c > ?) LIMIT ?")
        let numbers = outer.parameters.map { parameter -> Int64? in
            if case .integer(let number) = parameter { return number }
            return nil
        }
        #expect(numbers == [1, nil, 3, 5])
    }

    @Test func `a text beside a parameter is part of the SQL, whatever it looks like`() {
        let fragment: SQLFragment = "\(bind: "?")\("?")\(bind: "$1")"
        #expect(numbered(fragment) == "$1?$2")
    }

    @Test func `conditions are joined, and none holds always`() {
        #expect(([] as [SQLFragment]).conjunction.sql == "true")
        #expect(
            numbered((["a = \(bind: 1)", "b", "c = \(bind: 2)"] as [SQLFragment]).conjunction)
                == "a = $1 AND b AND c = $2")
    }

    @Test func `a list of numbers is one parameter`() {
        let fragment: SQLFragment = "id \(SQLiteDialect.isOneOf([1, 2])) AND id \(SQLiteDialect.isOneOf(["a", "b"]))"
        #expect(fragment.sql == "id IN (SELECT value FROM json_each(?)) AND id IN (?, ?)")
        #expect(fragment.parameters.count == 3)
    }
}

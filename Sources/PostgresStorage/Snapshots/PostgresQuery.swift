/// A query under construction: conditions with the values of their parameters.
struct PostgresQuery {
    private var binds: [(inout PostgresStatement) throws(StoreError) -> Void] = []
    private var conditions: [String] = []

    /// Adds a value and returns its parameter, of a type such as `int8[]`.
    mutating func parameter(
        _ type: String, _ bind: @escaping (inout PostgresStatement) throws(StoreError) -> Void
    ) -> String {
        binds.append(bind)
        return "$\(binds.count)::\(type)"
    }

    mutating func parameter(_ number: Int64) -> String { parameter("int8") { $0.bind(number) } }

    mutating func parameter(_ numbers: [Int64]) -> String { parameter("int8[]") { $0.bind(numbers) } }

    /// Adds a condition that has to hold.
    mutating func add(_ condition: String) { conditions.append(condition) }

    /// Adds a condition on a number, such as `id >`, unless it is nil.
    mutating func add(_ condition: String, _ number: Int64?) {
        if let number { add("\(condition) \(parameter(number))") }
    }

    /// The conditions behind WHERE.
    var condition: String { conditions.isEmpty ? "true" : conditions.joined(separator: " AND ") }

    /// Returns a statement with the values of all parameters taken so far.
    func statement(_ sql: String) throws(StoreError) -> PostgresStatement {
        var statement = PostgresStatement(sql)
        for bind in binds { try bind(&statement) }
        return statement
    }
}

/// The words in which one SQL engine differs from others.
package protocol SQLDialect {
    /// The operator that tells two values apart, of which missing ones are the same.
    static var isDistinct: String { get }
    /// A join that begins with the rows on its left.
    static var orderedJoin: String { get }
    /// The words behind a table of which a statement uses one index, where the engine might choose another.
    static func indexed(by name: String) -> String

    // MARK: Tables

    /// The name of a table or column of the store's own.
    static func ownName(_ name: String) -> String
    /// The type of a column of a form, or nil for a column without one.
    static func columnType(_ form: StoreTable.Form) -> String?
    /// The words of a primary key of one column.
    static func key(of table: StoreTable) -> String
    /// The words behind the columns of a table.
    static func end(of table: StoreTable) -> String
    /// The words behind the names of columns, given as `table.column` or for all tables, that the engine's stores have had
    /// otherwise from the beginning.
    static var formerDeclarations: [String: String] { get }

    // MARK: Views

    /// A number of microseconds since 1970 UTC as a time for people.
    static func time(_ column: String) -> String
    /// A column of an attribute's type for people.
    static func readable(_ column: String, _ type: AttributeType) -> String
    /// The column of the history's view for an identity in an entity's table.
    static func identity(of column: String) -> String
    /// The column of the history's view for an identity in the store's own tables.
    static func identity(ofRecorded column: String) -> String
    /// A join with the elements of a JSON list of whole numbers, and the expression of one.
    static func elements(of column: String) -> (join: String, element: String)
    /// A subquery of the JSON list of destinations' identities, for the owner `e`.
    static func list(of identity: String, _ rows: DestinationRows) -> String

    // MARK: Columns

    /// A column of an attribute's type as a query returns it.
    static func selected(_ column: String, _ type: AttributeType) -> String
    /// An expression of an attribute's type, for telling which value comes first.
    static func ordered(_ expression: String, _ type: AttributeType) -> String
    /// A number as a value of an attribute's type. One beyond the type stays at its bound.
    static func bounded(_ number: String, _ type: AttributeType) -> String
    /// A column of an attribute's type in the form of the identities in the store's own tables.
    static func recorded(_ column: String, _ type: AttributeType) -> String
    /// A sum of whole numbers as a whole number of 64 bits.
    static func whole(_ sum: String) -> String

    /// A key by which rows are sorted after an index of another column has found them.
    static func sortedKey(_ key: String) -> String
    /// The owners `o` of some keys, from FROM on, by the end of a condition that a key is one of these.
    static func owners(_ table: String, _ keys: String) -> String

    // MARK: Lists

    /// The end of a condition that something is one of some numbers.
    static func isOneOf(_ numbers: [Int64]) -> SQLFragment
    /// The end of a condition that something is one of some texts.
    static func isOneOf(_ texts: [String]) -> SQLFragment
    /// A table, of the alias `k`, with a row for each number in the column `value`.
    static func table(of numbers: [Int64]) -> SQLFragment
    /// The number of elements of a JSON list of whole numbers; 0 of any other text.
    static func count(ofList column: String) -> String
    /// The condition that a JSON list of whole numbers holds a number.
    static func list(_ column: String, holds number: String) -> String

    // MARK: Conditions

    /// The condition that a text has a part, in any case of ASCII letters.
    static func contains(_ text: String, part: String) -> SQLFragment
    /// The condition that a change or a range of an alias belongs to the transaction `t`, by the columns that an index has.
    static func isOfTransaction(_ alias: String) -> String
}

/// A row of an engine's result.
package protocol SQLRow: StoreRow {
    /// A value of an attribute's type.
    func value(_ column: Int, _ type: AttributeType) -> Value
    /// Tells whether a column holds a text whose bytes are no UTF-8.
    func isMalformedText(_ column: Int) -> Bool
}

extension SQLRow {
    package func isMalformedText(_ column: Int) -> Bool { false }
}

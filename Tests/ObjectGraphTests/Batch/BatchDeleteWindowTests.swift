import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Deletions of more objects than are written at once, whose keys have gaps or none.
@Suite struct BatchDeleteWindowTests {
    private static let yaml = """
        entities:
          Shelf:
            identity: id
            attributes: { id: { type: string } }
            relationships: { items: { to: Item, many: true, inverse: shelf, delete: cascade } }
          Item:
            identity: id
            abstract: true
            attributes: { id: { type: string } }
            relationships: { shelf: { to: Shelf, inverse: items } }
          Book: { parent: Item, attributes: { pages: { type: integer64, preserveAfterDeletion: true } } }
          Disc: { parent: Item, attributes: { tracks: { type: integer64, preserveAfterDeletion: true } } }
        """
    /// More than two windows, and a part of a third.
    private static let count = 40_000

    /// Makes two shelves; the last item, and every thousandth where there are gaps, stands on the second.
    private func graph(hasGaps: Bool) throws -> Graph {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply([graph.upsert("Shelf", "full"), graph.upsert("Shelf", "other")])
        let stays = hasGaps ? "i = \(Self.count) OR i % 1000 = 0" : "i = \(Self.count)"
        for statement in [
            """
            INSERT INTO Item (pk, _entity, id, shelf, pages, tracks) WITH RECURSIVE n(i) AS \
            (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.count)) \
            SELECT i, iif(i % 3, 'Book', 'Disc'), 'item' || i, iif(\(stays), 2, 1), iif(i % 3, i, NULL), \
            iif(i % 3, NULL, i) FROM n
            """,
            "INSERT INTO _sequence VALUES ('Item', \(Self.count + 1))",
        ] {
            try graph.writer.write("make items") { try $0.runOnce(statement) }
            try graph.writer.commit()
        }
        return graph
    }

    @Test(.onlyInSQLite("it prepares keys with SQL"), arguments: [true, false])
    func `every object that goes has its change and its tombstone`(_ hasGaps: Bool) throws {
        let graph = try graph(hasGaps: hasGaps)
        #expect(try graph.value("SELECT count(*) FROM Item") == .integer(Int64(Self.count)))
        let gone = Int64(Self.count - (hasGaps ? Self.count / 1000 : 1))
        let result = try graph.writer.execute(BatchDeleteRequest("Shelf", where: "id = 'full'"))
        #expect(result.changes.count(.delete) == Int(gone) + 1)
        #expect(try graph.value("SELECT count(*) FROM Item WHERE shelf = 1") == 0)
        #expect(try graph.value("SELECT count(*) FROM Item WHERE shelf = 2") == .integer(Int64(Self.count) - gone))
        // Each under its own entity, with what it preserves.
        let wrong = """
            SELECT count(*) FROM _history_change WHERE change = 2 AND entity != 'Shelf' AND \
            (identity != 'item' || object OR entity != iif(object % 3, 'Book', 'Disc') \
            OR tombstone != json_object(iif(object % 3, 'pages', 'tracks'), object))
            """
        #expect(try graph.value(wrong) == 0)
        let objects = "FROM _history_change WHERE change = 2 AND entity != 'Shelf'"
        #expect(
            try graph.rows("SELECT count(*), count(DISTINCT object) \(objects)") == [[.integer(gone), .integer(gone)]])
        #expect(
            try graph.value(
                """
                SELECT count(*) FROM _tombstone t JOIN _history_change c ON c.identity = t.identity AND c.change = 2 \
                WHERE t.entity = 'Item' AND t.token = c.token
                """) == .integer(gone))
        #expect(try graph.store.inSQLite().verify().isSound)
    }
}

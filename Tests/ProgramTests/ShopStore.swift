import TestSupport

extension Workspace {
    /// The models of a small shop: the second renames, widens, adds a derived value and an ordered relationship.
    func shopModels() throws -> [String] {
        let first = """
            model: shop
            version: 1
            entities:
              Order:
                identity: id
                attributes:
                  id: { type: string }
                  note: { type: string, optional: true }
                  total: { type: integer32, default: 0 }
                relationships:
                  lines: { to: Line, many: true, inverse: order, delete: cascade }
              Line:
                identity: id
                attributes: { id: { type: string }, priority: { type: string, default: low }, amount: { type: integer64, default: 1 } }
                relationships: { order: { to: Order, inverse: lines, optional: true } }
            """
        let second = """
            model: shop
            version: 2
            entities:
              Purchase:
                renamedFrom: Order
                identity: id
                attributes:
                  id: { type: string }
                  remark: { type: string, default: none, renamedFrom: note }
                  total: { type: integer64, default: 0 }
                  linesAmount: { type: integer64, derived: lines.amount.@sum }
                relationships:
                  lines: { to: Line, many: true, ordered: true, inverse: order, delete: cascade }
              Line:
                identity: id
                attributes: { id: { type: string }, priority: { type: string, default: low }, amount: { type: integer64, default: 1 } }
                relationships: { order: { to: Purchase, inverse: lines, optional: true } }
            """
        return [
            try write(first, to: "shop-1.yaml"), try write(second, to: "shop-2.yaml"),
            try write(
                second.replacingOccurrences(of: "version: 2", with: "version: 3")
                    .replacingOccurrences(
                        of: "priority: { type: string, default: low }", with: "priority: { type: integer16 }"),
                to: "shop-3.yaml"),
        ]
    }

    /// Writes events of a shop with three lines an order, and returns the file's path.
    func shopEvents(lines count: Int) throws -> String {
        var lines = (0..<max(1, count / 3)).map {
            #"{"specversion":"1.0","type":"order.upserted","data":{"id":"o\#($0)","total":\#($0)}}"#
        }
        lines += (0..<count).map {
            #"{"specversion":"1.0","type":"line.upserted","data":{"id":"l\#($0)","order":"o\#($0 / 3)","priority":"\#($0 % 2 == 0 ? "low" : "high")"}}"#
        }
        return try write(lines.joined(separator: "\n") + "\n", to: "shop.jsonl")
    }
}

import Testing

@testable import GraphModel

/// `model check` lists the derived attributes whose cost grows, and no others.
@Suite struct DerivationCostTests {
    private static func model(indexes: String = "[]") throws -> ObjectModel {
        try ObjectModel.parse(
            """
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  count: { type: integer64, derived: items.@count }
                  total: { type: decimal, derived: items.price.@sum }
                  mean: { type: double, derived: items.price.@avg }
                  first: { type: date, derived: items.at.@min }
                  dearest: { type: decimal, derived: items.price.@max }
                  meanWeight: { type: double, derived: items.weight.@avg }
                  meanDouble: { type: double, derived: items.double.@avg }
                  tagSum: { type: integer64, derived: marks.size.@sum }
                  tagCount: { type: integer64, derived: marks.@count }
                relationships:
                  items: { to: Item, many: true, inverse: box }
                  marks: { to: Tag, many: true, inverse: boxes }
              Item:
                identity: id
                attributes:
                  id: { type: string }
                  price: { type: decimal, optional: true }
                  weight: { type: double, optional: true }
                  double: { type: double, derived: weight * 2 }
                  at: { type: date, optional: true }
                  boxCount: { type: integer64, derived: box.count }
                relationships: { box: { to: Box, inverse: items, optional: true } }
                indexes: \(indexes)
              Tag:
                identity: id
                attributes: { id: { type: string }, size: { type: integer64, default: 1 } }
                relationships: { boxes: { to: Box, many: true, inverse: marks } }
            """)
    }

    @Test func `each derivation whose cost grows is told with what makes it cheaper`() throws {
        let costs = try Self.model().derivationCosts
        #expect(
            costs.map(\.attribute) == [
                "Box.dearest", "Box.meanWeight", "Box.meanDouble", "Box.tagSum", "Item.boxCount",
            ])
        let remedies = Dictionary(uniqueKeysWithValues: costs.map { ($0.attribute, $0.remedy) })
        #expect(remedies["Box.meanWeight"] == "Use decimal or a whole number, or add indexes: [[box, weight]] to Item")
        #expect(remedies["Box.meanDouble"] == "Add indexes: [[box, double]] to Item")
        #expect(remedies["Box.tagSum"] == "No other index helps; keep such sets small")
    }

    @Test func `an index that is there is not advised`() throws {
        let costs = try Self.model(indexes: "[[box, weight], [box, double, at]]").derivationCosts
        let remedies = Dictionary(uniqueKeysWithValues: costs.map { ($0.attribute, $0.remedy) })
        #expect(remedies["Box.meanWeight"] == "Use decimal or a whole number")
        #expect(remedies["Box.meanDouble"] == "No other index helps; keep such sets small")
    }
}

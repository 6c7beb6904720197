import ObjectGraph

@testable import GraphCore

extension Models {
    /// A hierarchy of three levels with an abstract top, an owner that keeps its items in order, and labels in order on
    /// both sides.
    static let hierarchy = """
        model: hierarchy
        entities:
          Item:
            abstract: true
            identity: id
            version: v
            attributes:
              id: { type: string }
              v: { type: integer64, optional: true }
              title: { type: string, optional: true, preserveAfterDeletion: true }
              place: { type: integer32, optional: true }
              weight: { type: integer64, default: 1 }
            relationships:
              folder: { to: Folder, inverse: items, optional: true }
              labels: { to: Label, many: true, ordered: true, inverse: items }
              next: { to: Item, inverse: previous, optional: true }
              previous: { to: Item, inverse: next, optional: true }
            unique: [[folder, place]]
          Note:
            parent: Item
            attributes:
              body: { type: string, default: empty }
              code: { type: string, optional: true, unique: true }
              extra: { type: string, optional: true }
          Task:
            parent: Item
            attributes:
              points: { type: integer32, default: 0 }
              code: { type: string, optional: true, unique: true }
              extra: { type: integer64, optional: true }
              labelsCount: { type: integer64, derived: labels.@count }
              stepsPoints: { type: integer64, derived: steps.points.@sum }
            relationships:
              steps: { to: Step, many: true, inverse: task, delete: cascade }
              blocks: { to: Task, many: true, inverse: blockedBy, delete: deny }
              blockedBy: { to: Task, inverse: blocks, optional: true }
            indexes: [[points, title]]
          Step:
            parent: Task
            attributes:
              size: { type: double, optional: true }
            relationships:
              task: { to: Task, inverse: steps, optional: true }
            unique: [[title, points]]
          Folder:
            identity: id
            attributes:
              id: { type: string }
              itemsCount: { type: integer64, derived: items.@count }
              itemsWeight: { type: integer64, derived: items.weight.@sum }
            relationships:
              items: { to: Item, many: true, ordered: true, inverse: folder, delete: cascade }
              pinned: { to: Note, many: true, inverse: none }
              top: { to: Task, inverse: none, optional: true }
          Label:
            identity: id
            attributes:
              id: { type: string }
              itemsCount: { type: integer64, derived: items.@count }
            relationships:
              items: { to: Item, many: true, ordered: true, inverse: labels }
        """

    /// Constraints of several properties, and order of every kind of storage.
    static let ordered = """
        model: ordered
        entities:
          List:
            identity: id
            attributes:
              id: { type: string }
              tenant: { type: string, optional: true }
              number: { type: integer64, optional: true }
              mail: { type: string, optional: true, unique: true }
              entriesCount: { type: integer64, derived: entries.@count }
            relationships:
              entries: { to: Entry, many: true, ordered: true, inverse: list, delete: nullify }
              fans: { to: Entry, many: true, inverse: liked }
              loose: { to: Entry, many: true, ordered: true, inverse: none }
              friends: { to: List, many: true, ordered: true, inverse: friends }
            unique: [[tenant, number]]
          Entry:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
            relationships:
              list: { to: List, inverse: entries, optional: true }
              liked: { to: List, many: true, ordered: true, inverse: fans }
            unique: [[list, name]]
        """
}

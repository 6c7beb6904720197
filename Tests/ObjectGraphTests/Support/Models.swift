import ObjectGraph

@testable import GraphCore

/// Small models, each for one corner of the rules.
enum Models {
    /// People with a manager, friends and a spouse: reflexive, own inverses, one-to-one.
    static let people = """
        model: people
        entities:
          Person:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              salary: { type: integer64, default: 0 }
              reportsCount: { type: integer32, derived: reports.@count }
              reportsSalary: { type: integer64, derived: reports.salary.@sum }
              friendsCount: { type: integer64, derived: friends.@count }
              friendsSalary: { type: integer64, derived: friends.salary.@sum }
            relationships:
              manager: { to: Person, inverse: reports, optional: true }
              reports: { to: Person, many: true, inverse: manager }
              friends: { to: Person, many: true, inverse: friends }
              spouse:  { to: Person, inverse: spouse, optional: true }
              badge:   { to: Badge, inverse: holder, optional: true, delete: cascade }
          Badge:
            identity: id
            attributes:
              id: { type: string }
              code: { type: string, optional: true, unique: true }
            relationships:
              holder: { to: Person, inverse: badge, optional: true }
              twin:   { to: Badge, inverse: twin, optional: true }
        """

    /// All four delete rules, counts, relationships without inverse, sums of every kind.
    static let rules = """
        model: rules
        entities:
          Box:
            identity: id
            version: v
            attributes:
              id: { type: string }
              v: { type: integer64, optional: true }
              label: { type: string, default: new, preserveAfterDeletion: true }
              count: { type: integer64, derived: items.@count }
              weight: { type: double, derived: items.weight.@sum }
              price: { type: decimal, derived: items.price.@sum }
              gross: { type: decimal, derived: price * 2 + count }
              marksCount: { type: integer64, derived: marks.@count }
              marksSize: { type: integer64, derived: marks.size.@sum }
            relationships:
              items:  { to: Item, many: true, inverse: box, delete: cascade }
              locks:  { to: Lock, many: true, inverse: box, delete: deny }
              traces: { to: Trace, many: true, inverse: box, delete: noAction }
              tags:   { to: Tag, many: true, inverse: boxes, delete: nullify }
              marks:  { to: Mark, many: true, inverse: none }
              mark:   { to: Mark, inverse: none, optional: true }
          Item:
            identity: id
            attributes:
              id: { type: string }
              weight: { type: double, optional: true }
              price: { type: decimal, optional: true }
            relationships:
              box:   { to: Box, inverse: items }
              owner: { to: Owner, inverse: items, optional: true }
          Lock:
            identity: id
            attributes: { id: { type: string } }
            relationships: { box: { to: Box, inverse: locks, optional: true } }
          Trace:
            identity: id
            attributes: { id: { type: string } }
            relationships: { box: { to: Box, inverse: traces, optional: true } }
          Tag:
            identity: id
            attributes:
              id: { type: string }
              boxesCount: { type: integer64, derived: boxes.@count }
            relationships:
              boxes: { to: Box, many: true, inverse: tags, minCount: 2, maxCount: 4 }
          Owner:
            identity: id
            attributes:
              id: { type: string }
              itemsWeight: { type: double, derived: items.weight.@sum }
            relationships: { items: { to: Item, many: true, inverse: owner, delete: nullify, minCount: 2 } }
          Mark:
            identity: id
            attributes:
              id: { type: string }
              size: { type: integer32, default: 1 }
        """

    /// Required ends, references that have to be known, one-to-one with every rule, times as versions, cascades in circles.
    static let strict = """
        model: strict
        entities:
          Order:
            identity: id
            version: at
            attributes:
              id: { type: string }
              at: { type: date, optional: true }
              note: { type: string, optional: true, unique: true }
              linesCount: { type: integer64, derived: lines.@count }
            relationships:
              lines:    { to: Line, many: true, inverse: order, delete: cascade, optional: false, minCount: 2, maxCount: 3 }
              invoice:  { to: Invoice, inverse: order, delete: deny, optional: true }
              shipment: { to: Shipment, inverse: order, delete: noAction, optional: true }
              parent:   { to: Order, inverse: children, optional: true, delete: cascade }
              children: { to: Order, many: true, inverse: parent, delete: cascade }
          Line:
            identity: id
            version: at
            attributes:
              id: { type: string }
              at: { type: date, optional: true }
            relationships:
              order:   { to: Order, inverse: lines, optional: true }
              product: { to: Product, inverse: lines, onMissing: reject, optional: true }
          Product:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              lines: { to: Line, many: true, inverse: product, delete: deny }
              alike: { to: Product, many: true, inverse: likedBy, delete: cascade }
              likedBy: { to: Product, many: true, inverse: alike, delete: noAction }
          Invoice:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              order: { to: Order, inverse: invoice }
          Shipment:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              order: { to: Order, inverse: shipment, delete: cascade, optional: true }
        """

    /// Names that mean something to SQL or to the store's own statements.
    static let awkward = """
        model: awkward
        entities:
          Order:
            identity: identity
            version: round
            attributes:
              identity: { type: integer64 }
              round: { type: integer32, optional: true }
              select: { type: string, optional: true, unique: true, preserveAfterDeletion: true }
              group: { type: integer64, derived: owner.@count }
            relationships:
              owner: { to: Group, many: true, inverse: destination, delete: cascade, minCount: 1 }
              e: { to: Order, inverse: d, optional: true, delete: noAction }
              d: { to: Order, inverse: e, optional: true }
          Group:
            identity: key
            attributes:
              key: { type: uuid }
              from: { type: double, default: 0 }
              Ünïcode: { type: integer64, derived: destination.@count }
              where: { type: double, derived: x.from.@sum }
            relationships:
              destination: { to: Order, many: true, inverse: owner }
              source: { to: Group, inverse: x, optional: true, delete: deny }
              x: { to: Group, many: true, inverse: source, delete: nullify, minCount: 2 }
        """

    /// Every derivation, in chains over entities, through every kind of storage and delete rule.
    static let derived = """
        model: derived
        entities:
          Team:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              chatsCount: { type: integer16, derived: chats.@count }
              messagesCount: { type: integer64, derived: chats.count.@sum }
              largest: { type: integer64, derived: chats.@max.largest }
              heaviest: { type: decimal, derived: chats.price.@max }
              mean: { type: double, derived: chats.count.@avg }
              spread: { type: integer64, derived: largest - chatsCount }
              savedAt: { type: date, derived: now() }
            relationships:
              chats: { to: Chat, many: true, inverse: team, delete: nullify }
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              folded: { type: string, derived: "canonical:(title)" }
              count: { type: integer64, derived: messages.@count }
              size: { type: integer64, derived: messages.size.@sum }
              largest: { type: integer32, derived: messages.size.@max }
              smallest: { type: integer64, derived: messages.@min.size }
              meanSize: { type: double, derived: messages.size.@avg }
              price: { type: decimal, derived: messages.price.@sum }
              cheapest: { type: decimal, derived: messages.price.@min }
              meanPrice: { type: decimal, derived: messages.price.@avg }
              firstWord: { type: string, derived: messages.word.@min }
              latest: { type: date, derived: messages.at.@max }
              weight: { type: double, derived: messages.weight.@sum }
              double: { type: double, derived: weight * 2 + count }
              teamName: { type: string, derived: team.name }
              teamSize: { type: integer16, derived: team.chatsCount }
            relationships:
              team: { to: Team, inverse: chats, optional: true }
              messages: { to: Message, many: true, inverse: chat, delete: cascade }
              tags: { to: Tag, many: true, inverse: chats }
              marks: { to: Tag, many: true, inverse: none }
          Message:
            identity: id
            attributes:
              id: { type: string }
              word: { type: string, optional: true }
              size: { type: integer32, optional: true }
              price: { type: decimal, optional: true }
              weight: { type: double, optional: true }
              at: { type: date, optional: true }
              chatTitle: { type: string, derived: chat.title }
              chatFolded: { type: string, derived: chat.folded }
              loud: { type: string, derived: "uppercase:(chatTitle)" }
              team: { type: string, derived: "lowercase:(chat.team.name)" }
              teamName: { type: string, derived: chat.teamName }
              share: { type: double, derived: size * siblings / 4 }
              siblings: { type: integer64, derived: chat.count }
              pinned: { type: integer64, derived: pin.total }
              traced: { type: string, derived: trace.name }
              authorName: { type: string, derived: author.name }
              savedAt: { type: date, derived: now() }
            relationships:
              chat: { to: Chat, inverse: messages, optional: true }
              pin: { to: Tag, inverse: none, optional: true }
              trace: { to: Person, inverse: traces, optional: true }
              author: { to: Person, inverse: authored, optional: true, delete: cascade }
          Tag:
            identity: id
            attributes:
              id: { type: string }
              rate: { type: integer32, default: 1 }
              total: { type: integer64, derived: chats.count.@sum }
              largest: { type: integer64, derived: chats.size.@max }
              rates: { type: integer64, derived: likes.rate.@sum }
            relationships:
              chats: { to: Chat, many: true, inverse: tags }
              likes: { to: Tag, many: true, inverse: none }
          Person:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true }
              lastSaved: { type: date, derived: traces.savedAt.@max }
              words: { type: string, derived: authored.word }
            relationships:
              traces: { to: Message, many: true, inverse: trace, delete: noAction }
              authored: { to: Message, inverse: author, optional: true, delete: nullify }
        """

    /// A chat with an attribute of each kind that indexes are made of, and these indexes.
    static func indexed(_ indexes: String) -> String {
        """
        entities:
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              kind: { type: string, optional: true }
              size: { type: integer64, default: 0 }
              price: { type: decimal, optional: true }
              sentAt: { type: date, optional: true }
              isDone: { type: boolean, default: false }
              draft: { type: string, transient: true, optional: true }
            relationships:
              owner: { to: Chat, inverse: owned, optional: true }
              owned: { to: Chat, many: true, inverse: owner }
            indexes: [\(indexes)]
        """
    }
}

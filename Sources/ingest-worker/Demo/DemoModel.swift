/// The model that the demo uses when none is named: chats and work orders side by side.
enum DemoModel {
    static let text = #"""
        model: demo
        version: 1
        entities:
          Chat:
            identity: id
            version: updatedAt
            attributes:
              id:            { type: string }
              title:         { type: string, optional: true, maxLength: 200, preserveAfterDeletion: true }
              updatedAt:     { type: date, optional: true }
              membersCount:  { type: integer64, derived: members.@count }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, inverse: chat,  delete: cascade }
              members:  { to: Member,  many: true, inverse: chats, delete: nullify }
          Message:
            identity: id
            version: updatedAt
            attributes:
              id:        { type: string }
              body:      { type: string, optional: true, maxLength: 10000 }
              sentAt:    { type: date, optional: true }
              updatedAt: { type: date, optional: true }
            relationships:
              chat:   { to: Chat,   inverse: messages, delete: nullify }
              sender: { to: Member, inverse: messages, delete: nullify, optional: true }
            indexes: [[chat, sentAt]]
          Member:
            identity: id
            attributes:
              id:            { type: string }
              name:          { type: string, optional: true, maxLength: 200 }
              messagesCount: { type: integer64, derived: messages.@count }
            relationships:
              chats:    { to: Chat,    many: true, inverse: members, delete: nullify }
              messages: { to: Message, many: true, inverse: sender,  delete: nullify }
          WorkOrder:
            identity: id
            version: updatedAt
            attributes:
              id:             { type: string }
              title:          { type: string, optional: true, maxLength: 500, preserveAfterDeletion: true }
              status:         { type: string, default: open, pattern: '^(open|scheduled|in-progress|done)$' }
              updatedAt:      { type: date, optional: true }
              cost:           { type: decimal, optional: true, min: 0 }
              taxRate:        { type: decimal, default: 0.2 }
              totalCost:      { type: decimal, derived: cost * (1 + taxRate) }
              checklistCount: { type: integer32, derived: checklist.@count }
            relationships:
              asset:       { to: Asset,         inverse: workOrders, delete: nullify, optional: true }
              technicians: { to: Technician,    many: true, inverse: workOrders, delete: nullify }
              checklist:   { to: ChecklistItem, many: true, inverse: workOrder,  delete: cascade }
          Asset:
            identity: id
            attributes:
              id:              { type: string }
              name:            { type: string, optional: true }
              workOrdersCount: { type: integer64, derived: workOrders.@count }
              maintenanceCost: { type: decimal, derived: workOrders.cost.@sum }
            relationships:
              workOrders: { to: WorkOrder, many: true, inverse: asset, delete: deny }
          Technician:
            identity: id
            attributes:
              id:   { type: string }
              name: { type: string, optional: true }
            relationships:
              workOrders: { to: WorkOrder, many: true, inverse: technicians, delete: nullify }
          ChecklistItem:
            identity: id
            attributes:
              id:     { type: string }
              text:   { type: string, optional: true }
              isDone: { type: boolean, default: false }
            relationships:
              workOrder: { to: WorkOrder, inverse: checklist, delete: nullify }
        """#
}

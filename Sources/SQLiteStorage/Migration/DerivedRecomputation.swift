import StoreSQL

/// Computes the derived values of all objects again, each after the values that it reads. A value of `now()` stays as
/// it was where nothing else changes.
struct DerivedRecomputation {
    private let store: SQLiteWriterSession
    private let time: Int64

    /// - Parameter time: the time of the migration, in microseconds since 1970 UTC.
    init(_ store: SQLiteWriterSession, time: Int64) {
        self.store = store
        self.time = time
    }

    func run(_ willExecute: (String) throws -> Void) throws {
        let model = store.model
        let plan = DerivedPlan(model)
        let propagation = DerivedPropagation(store: store, plan: plan, time: time)
        for node in plan.order {
            let entity = model.entities[node.entity]
            if plan.timeSlots[node.entity].contains(node.slot) { continue }
            try willExecute("derive \(entity.name).\(entity.slotNames[node.slot])")
            let kind = entity.sharesTable ? model.kindCondition(entity) : "1"
            try propagation.mark(node, selection: "SELECT pk FROM \(SQLText.quoted(entity.tableName)) WHERE \(kind)")
        }
        // The marker of the migration stands in the history for all of them.
        try propagation.run { _, _, _, _ in true }
    }
}

import StoreSQL

// Derived values of survivors that read deleted objects.
extension SetDeletion {
    /// Marks the values to compute again, while references and links are still there.
    func markReaders(_ propagation: DerivedPropagation, _ reach: CascadeReach) throws(StoreError) {
        for node in plan.order {
            let relationship = model.entities[node.entity].attributes[node.slot].derivation?.aggregatedRelationship
                .map { model.entities[node.entity].relationships[$0] }
            guard let relationship, !reach.takesOwners(of: relationship, model) else { continue }
            let gone = "SELECT pk FROM temp.\(tableToDelete(relationship.destinationIndex))"
            try propagation.mark(
                node, selection: staying(propagation.owners(of: node, among: gone), node.entity))
        }
        for (index, path) in plan.paths.enumerated() {
            for (position, step) in path.steps.enumerated() {
                let gone = "SELECT pk FROM temp.\(tableToDelete(step.destination))"
                let readers = propagation.readers(path: index, depth: position + 1, among: gone)
                try propagation.mark(path.node, selection: staying(readers, path.node.entity))
            }
        }
    }

    private func staying(_ keys: String, _ entity: Int) -> String {
        "WITH keys(k) AS (\(keys)) SELECT k FROM keys WHERE k NOT IN (SELECT pk FROM temp.\(tableToDelete(entity)))"
    }

    /// Sets the times of change of survivors that a query gives, and marks what reads them.
    ///
    /// Returns the names of the attributes, for the history.
    func setTimes(
        _ entity: Entity, where condition: String, _ propagation: DerivedPropagation
    ) throws(StoreError) -> [String] {
        let slots = plan.timeSlots[entity.index]
        if slots.isEmpty { return [] }
        let assignments = slots.map { "\(SQLText.quoted(entity.columnNames[$0])) = ?1" }.joined(separator: ", ")
        try store.runOnce("UPDATE \(table(entity.index)) SET \(assignments) WHERE \(condition)") {
            $0.bind(1, history.time)
        }
        for slot in slots {
            let selection = "SELECT pk FROM \(table(entity.index)) WHERE \(condition)"
            try propagation.markReaders(of: entity.node(of: slot), selection: selection)
        }
        return slots.map { entity.slotNames[$0] }
    }
}

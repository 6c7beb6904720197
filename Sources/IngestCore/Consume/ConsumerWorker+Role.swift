import ObjectGraph

/// Which of the workers that share a store delivers its notifications and dead-letter records, and purges.
struct DeliveryRole {
    /// The name under which the store keeps the role.
    static let name = "delivery"

    /// The number of the holding, or nil while another worker has the role.
    private var epoch: Int64?

    /// Makes the role; a worker that has the store for itself holds it.
    init(sharesStore: Bool) { epoch = sharesStore ? nil : 0 }

    /// Whether this worker has the role.
    var isHeld: Bool { epoch != nil }

    /// Takes what the store says, and tells whether the role is newly taken.
    mutating func update(_ epoch: Int64?) -> Bool {
        defer { self.epoch = epoch }
        return epoch != nil && epoch != self.epoch
    }

    /// Forgets that this worker has the role, so that it is newly taken the next time.
    mutating func forget() { epoch = nil }
}

extension ConsumerWorker {
    /// Takes or keeps the role of the one that delivers and purges, and tells whether this worker has it.
    ///
    /// A worker that newly has it goes on where the store's cursors stand. The others look how much waits, so that all
    /// stop reading where too much does.
    func holdDeliveryRole(_ writer: WriterContext) throws -> Bool {
        let isNew = deliveryRole.update(try writer.holdRole(DeliveryRole.name))
        if isNew { logger.info("this worker delivers and purges from now on") }
        do {
            for outbox in [notifications, deadLetters].compactMap(\.self) {
                if isNew {
                    try outbox.activate()
                } else if !deliveryRole.isHeld {
                    try outbox.deactivate()
                }
            }
        } catch {
            // A role whose outboxes did not begin would be held, and nobody would deliver.
            deliveryRole.forget()
            throw error
        }
        return deliveryRole.isHeld
    }
}

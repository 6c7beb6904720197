import KafkaClient

/// I4: a topic has every entry, and each stands there first behind the one before it. A sender that was stalled may repeat
/// a part of its batch behind newer entries. Where the broker lost records, the worker sends them again; a batch that was
/// under way may stand before them.
struct DeliveryCheck {
    let topic: String
    let expected: [String]
    /// Whether each entry stands there once, unless the broker lost records.
    let isExact: Bool
    /// Whether an entry has to be there.
    let needs: (Int) -> Bool

    /// Looks at the records that readers of committed records see.
    ///
    /// - Parameter mark: returns the entry that a record carries.
    func look(at log: SimulatedLog, in world: World, mark: (ProducerRecord) -> String?) {
        let places = Dictionary(expected.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var reached = 0
        // The entries that a batch under way has passed.
        var owed: Set<Int> = []
        for (record, offset) in log.records {
            guard let place = mark(record).flatMap({ places[$0] }) else {
                return world.violate("I4", "\(topic) has at \(offset) what the store does not know")
            }
            let isBeforeLoss = offset < log.firstLoss ?? .max
            if place >= reached {
                let passed = (reached..<place).filter(needs)
                if !passed.isEmpty, isBeforeLoss {
                    return world.violate("I4", "\(topic) has a gap before \(offset)")
                }
                owed.formUnion(passed)
            } else if isExact, isBeforeLoss {
                return world.violate("I4", "\(topic) has at \(offset) a second time what a transaction has sent")
            }
            owed.remove(place)
            reached = max(reached, place + 1)
        }
        if !owed.isEmpty || (reached..<expected.count).contains(where: needs) {
            let rest = owed.isEmpty ? "" : ", and lacks \(owed.sorted().prefix(10))"
            world.violate("I4", "\(topic) has \(reached) of \(expected.count) entries\(rest)")
        }
    }
}

import GraphCore
import Logging

/// The worker's outboxes, what they know of, and whether this worker delivers.
///
/// Of workers that share a store, the one with the role of delivery sends notifications and dead-letter records, saves
/// how far they are, and purges.
struct WorkerDelivery {
    /// The name under which the store keeps the role.
    static let roleName = "delivery"

    /// The outbox of notifications, or nil where nothing is notified.
    let notifications: Outbox?
    /// The outbox of dead-letter records, or nil without a dead-letter topic.
    let deadLetters: Outbox?
    /// The number of the role's holding, or nil while another worker has the role.
    private var roleEpoch: Int64?
    /// The last token that the outbox of notifications knows of.
    private var notedToken: Int64
    /// The number of the pipeline's dead letters that their outbox knows of.
    private var notedDeadLetters = 0

    /// Makes the deliveries of a worker; one that has the store for itself holds the role.
    init(notifications: Outbox?, deadLetters: Outbox?, sharesStore: Bool, lastToken: Int64) {
        self.notifications = notifications
        self.deadLetters = deadLetters
        roleEpoch = sharesStore ? nil : 0
        notedToken = lastToken
    }

    /// Whether this worker has the role.
    var isHeld: Bool { roleEpoch != nil }

    /// Reports to the outboxes how much was committed since the last report.
    mutating func committed(token: Int64?, deadLetters count: Int) {
        let token = max(notedToken, token ?? notedToken)
        notifications?.committed(Int(token - notedToken))
        notedToken = token
        deadLetters?.committed(count - notedDeadLetters)
        notedDeadLetters = count
    }

    /// Saves how far notifications and dead letters were delivered, where this worker has the role.
    mutating func saveCursors(_ writer: WriterContext, _ logger: Logger) throws {
        if writer.sharesStore, try !hold(writer, logger) { return }
        try deadLetters?.saveCursor(writer)
        try notifications?.saveCursor(writer)
    }

    /// Takes or keeps the role, and tells whether this worker has it.
    ///
    /// A worker that newly has it goes on where the store's cursors stand. The others look how much waits, so that all
    /// stop reading where too much does.
    private mutating func hold(_ writer: WriterContext, _ logger: Logger) throws -> Bool {
        let epoch = try writer.holdRole(Self.roleName)
        let isNew = epoch != nil && epoch != roleEpoch
        roleEpoch = epoch
        if isNew { logger.info("this worker delivers and purges from now on") }
        do {
            for outbox in [notifications, deadLetters].compactMap(\.self) {
                if !isHeld {
                    try outbox.deactivate()
                } else if isNew || outbox.isFenced {
                    try outbox.activate()
                }
            }
        } catch {
            // A role whose outboxes did not begin would be held, and nobody would deliver.
            roleEpoch = nil
            throw error
        }
        return isHeld
    }
}

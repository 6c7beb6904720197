import ObjectGraph

/// Where notifications go.
///
/// The publisher calls ``deliver(_:)`` once or more and then ``finish(through:)``: that is a batch. Where either throws,
/// it delivers the batch again later.
package protocol NotificationSink: Sendable {
    /// Delivers notifications in their order; returns when all are delivered.
    ///
    /// - Throws: where one could not be delivered; all may be sent again then.
    func deliver(_ notifications: [ChangeNotification]) throws

    /// Ends a batch: readers may have everything through the token.
    ///
    /// - Throws: where the batch has to be delivered again.
    func finish(through token: Int64) throws

    /// Returns the last token that the sink knows to be finished, or nil where it keeps none.
    ///
    /// - Throws: where the sink cannot find it out now.
    func finishedToken() throws -> Int64?

    /// Asks a delivery, also one under way, to wait only briefly from now on: the worker is about to end.
    func prepareToStop()

    /// Gives up what is not delivered, and the connection.
    func close()
}

extension NotificationSink {
    /// Does nothing: every notification is delivered by itself.
    package func finish(through token: Int64) throws {}
    /// Knows none.
    package func finishedToken() throws -> Int64? { nil }
    /// Does nothing.
    package func prepareToStop() {}
    /// Does nothing.
    package func close() {}
}

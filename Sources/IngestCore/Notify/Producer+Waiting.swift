import KafkaClient

extension Producer {
    /// Waits until all queued records are written; once the worker is about to end, for two seconds more at the most.
    ///
    /// - Throws: as `flush(timeoutMilliseconds:)`.
    func flush(timeoutMilliseconds: Int, isStopping: () -> Bool) throws {
        var deadline = HealthMonitor.monotonicSeconds() + Double(timeoutMilliseconds) / 1000
        while true {
            do {
                return try flush(timeoutMilliseconds: 250)
            } catch let error as KafkaError where error.code == .timedOut {
                let time = HealthMonitor.monotonicSeconds()
                if isStopping() { deadline = min(deadline, time + 2) }
                if time >= deadline { throw error }
            }
        }
    }
}

import ObjectGraph

/// What people ask of the store's writer, carried out between chunks.
extension ConsumerWorker {
    /// Does a step of what was asked over the control socket.
    ///
    /// What is open is saved before, so that positions and chunks are as without it.
    func serveRequests(_ writer: WriterContext) throws {
        guard let control, control.hasWork else { return }
        try control.serve(writer) {
            try pipeline.finish()
            try saveCursors(writer)
        }
        // The step may have made history.
        if let token = writer.committedToken { metrics.historyToken.set(token) }
        wakePublisher()
    }
}

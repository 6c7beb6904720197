import ObjectGraph

/// What is written between chunks beside records: cursors, and what people ask of the store's writer.
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

    /// Saves how far notifications and dead letters were delivered.
    func saveCursors(_ writer: WriterContext) throws {
        try saveDeadLetterCursor()
        let cursors = mailbox.take()
        if cursors.isEmpty { return }
        do {
            try writer.putCursors(cursors)
            try writer.commit()
        } catch {
            for (name, token) in cursors { mailbox.put(name, token) }
            throw error
        }
    }
}

import ObjectGraph

/// The writer's work between chunks: cursors, and requests over the control socket.
extension ConsumerWorker {
    /// Does a step of what was asked over the control socket.
    ///
    /// The worker saves the open chunk first, so that a request changes neither positions nor chunks.
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

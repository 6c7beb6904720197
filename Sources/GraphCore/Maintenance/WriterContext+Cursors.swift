extension WriterContext {
    /// Saves the progress of readers of the history, with the next commit.
    ///
    /// - Throws: ``StoreError``.
    public func putCursors(_ cursors: [String: Int64]) throws(StoreError) {
        if cursors.isEmpty { return }
        try undoingOnFailure("save a cursor") {
            try beginIfNeeded()
            for (name, token) in cursors.sorted(by: { $0.key < $1.key }) {
                try session.putCursor(name: name, token: token, time: options.now())
            }
            uncommittedCount += cursors.count
        }
    }

    /// Saves the beginning of a reader of the history, unless the store knows the reader, with the next commit.
    package func startCursor(_ name: String, at token: Int64) throws(StoreError) {
        try undoingOnFailure("start a cursor") {
            // Inside the transaction no other writer commits.
            try beginIfNeeded()
            if try store.read({ try $0.cursors()[name] }) != nil { return }
            try session.putCursor(name: name, token: token, time: options.now())
            uncommittedCount += 1
        }
    }

    /// Removes a reader's cursor, so that purges no longer wait for it, and commits the applied chunks.
    ///
    /// - Returns: whether there was a cursor of that name.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func removeCursor(_ name: String) throws(StoreError) -> Bool {
        try change("remove a cursor") { try $0.removeCursor(name: name) }
    }

    /// Saves through which number dead letters were sent to a topic, with the next commit.
    ///
    /// - Throws: ``StoreError``.
    public func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError) {
        try undoingOnFailure("save the dead letters' cursor") {
            try beginIfNeeded()
            try session.putSentDeadLetter(id, topic: topic)
            uncommittedCount += 1
        }
    }
}

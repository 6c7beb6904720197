extension WriterContext {
    /// Saves how far readers of the history have come, with the next commit.
    public func putCursors(_ cursors: [String: Int64]) throws(StoreError) {
        if cursors.isEmpty { return }
        try undoingOnFailure("save a cursor") {
            try beginIfNeeded()
            for (name, token) in cursors.sorted(by: { $0.key < $1.key }) {
                try connection.putCursor(name: name, token: token, time: options.now())
            }
            uncommittedCount += cursors.count
        }
    }

    /// Forgets a reader of the history, so that it holds nothing back any more; commits what is applied with it.
    ///
    /// - Returns: whether there was a cursor of that name.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func removeCursor(_ name: String) throws(StoreError) -> Bool {
        try write("remove a cursor") { store in try store.removeCursor(name: name) }
    }
}

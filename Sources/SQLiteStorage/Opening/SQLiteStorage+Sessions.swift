extension SQLiteStorage: Storage {
    func makeRowReader() throws(StoreError) -> any RowReader { try ReaderConnection(path: path, model: model) }

    func makeWriterSession() throws(StoreError) -> any WriterSession {
        do {
            return try onWriter { handle in
                let session = SQLiteWriterSession(handle, model: model, storage: self)
                if session.isInTransaction {
                    throw StoreError(
                        .leased, "Another writer context of this process is writing this store",
                        remedy: "Use that writer context, or close it first")
                }
                return session
            }
        } catch {
            throw StoreError(sqlite: error, action: "open the store for writing")
        }
    }
}

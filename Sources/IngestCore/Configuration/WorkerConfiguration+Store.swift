import ObjectGraph

/// How the configured store is opened: the one place that knows which storage it is in.
extension WorkerConfiguration {
    /// Opens the store for writing, and makes it where there is none.
    ///
    /// - Throws: `StoreError`.
    package func openStore(model: ObjectModel) throws(StoreError) -> Store {
        try openStore(model: model, options: storeOptions)
    }

    /// - Parameter options: ``storeOptions``, with what a rebuild adds to them.
    func openStore(model: ObjectModel, options: Store.Options) throws(StoreError) -> Store {
        try Store.open(path: store.path, model: model, options: options)
    }

    /// Opens a store that is there for reading.
    ///
    /// - Throws: `StoreError`.
    package func openStoreForReading(model: ObjectModel) throws(StoreError) -> Store {
        try Store.openForReading(path: store.path, model: model, options: storeOptions)
    }

    /// The place of the store for people, without a password.
    package var storePlace: String { store.path }

    /// The path of the socket at which the store's writer takes requests.
    var controlPath: String { ControlSocket.path(ofStore: store.path) }

    /// The options of the store that the configuration states.
    var storeOptions: Store.Options {
        var options = Store.Options()
        options.cacheMegabytes = store.cacheMegabytes
        options.busyTimeoutMilliseconds = store.busyTimeoutMilliseconds
        options.indexesHistoryByObject = history.indexObjects
        return options
    }

    /// The writer's options that the configuration states.
    package var writerOptions: WriterContext.Options {
        var options = WriterContext.Options()
        options.author = author
        options.leaseTTLSeconds = Double(lease.ttlSeconds)
        return options
    }
}

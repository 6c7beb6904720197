/// Tells which librdkafka the process runs with.
public enum KafkaLibrary {
    /// Reads the version of the library that was loaded at run time (not the one compiled against).
    public static var version: KafkaLibraryVersion { NativeLibrary.version }

    /// Reads the library's own version text, for example `2.0.2`.
    public static var versionString: String { NativeLibrary.versionText }

    /// Lists the names of the properties that the library documents, in order.
    public static var propertyNames: [String] { NativeConfiguration.propertyNames() }
}

extension KafkaConfiguration {
    /// Checks the names and values of the properties as the library does, without a client and without a connection.
    ///
    /// - Throws: ``KafkaError`` where one is unknown or refused.
    public func check() throws { try NativeConfiguration.check(properties) }
}

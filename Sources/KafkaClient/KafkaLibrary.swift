/// Tells which librdkafka the process runs with.
public enum KafkaLibrary {
    /// Reads the version of the library that was loaded at run time (not the one compiled against).
    public static var version: KafkaLibraryVersion {
        let packed = NativeLibrary.packedVersion
        return KafkaLibraryVersion(
            major: (packed >> 24) & 0xFF, minor: (packed >> 16) & 0xFF, revision: (packed >> 8) & 0xFF)
    }

    /// Reads the library's own version text, for example `2.0.2`.
    public static var versionString: String { NativeLibrary.versionText }

    /// Lists the names of the properties that the library documents, in order.
    public static var propertyNames: [String] { NativeConfiguration.propertyNames() }
}

/// Names a librdkafka release; versions compare in release order.
public struct KafkaLibraryVersion: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The first number.
    public let major: Int
    /// The second number.
    public let minor: Int
    /// The third number.
    public let revision: Int

    /// Makes a version from its three numbers.
    public init(major: Int, minor: Int, revision: Int) {
        self.major = major
        self.minor = minor
        self.revision = revision
    }

    /// Compares in release order.
    public static func < (left: KafkaLibraryVersion, right: KafkaLibraryVersion) -> Bool {
        (left.major, left.minor, left.revision) < (right.major, right.minor, right.revision)
    }

    /// Prints `major.minor.revision`.
    public var description: String { "\(major).\(minor).\(revision)" }
}

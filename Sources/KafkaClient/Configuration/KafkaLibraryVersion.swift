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

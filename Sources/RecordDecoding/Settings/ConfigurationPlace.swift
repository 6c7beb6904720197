/// Says where a value came from.
public enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// No source gave it.
    case byDefault
    /// A position in the file; lines and columns count from 1.
    case file(path: String, line: Int, column: Int)
    /// An environment variable.
    case environment(name: String)
    /// `--set KEY=…`.
    case flag(key: String)

    /// The order of the origins: a greater one goes before a smaller one.
    package var rank: Int {
        switch self {
        case .byDefault: 0
        case .file: 1
        case .environment: 2
        case .flag: 3
        }
    }

    /// Names the origin in the form that editors and people know.
    public var description: String {
        switch self {
        case .byDefault: "default"
        case .file(let path, let line, let column): "\(path):\(line):\(column)"
        case .environment(let name): "environment \(name)"
        case .flag(let key): "--set \(key)"
        }
    }
}

/// Where a part of the configuration was written, for messages; two parts are equal wherever they stand.
public struct ConfigurationPlace: Sendable, Equatable {
    /// The position, or `byDefault` where there is none.
    public var origin: ConfigurationOrigin

    /// Creates a place.
    public init(_ origin: ConfigurationOrigin = .byDefault) { self.origin = origin }

    /// Any place is as good as another.
    public static func == (left: ConfigurationPlace, right: ConfigurationPlace) -> Bool { true }

    /// The place for an error; nil where there is none.
    package var location: String? { origin == .byDefault ? nil : "\(origin)" }
}

/// Names the form of a topic's records or a file's lines.
public enum EventFormat: String, Sendable, CaseIterable {
    /// CloudEvents, structured or binary mode.
    case cloudevents
    /// JSON whose fields the routes name.
    case json
    /// Debezium change events, with or without the schema wrapper.
    case debezium
}

/// Describes one topic to consume.
public struct TopicConfiguration: Sendable, Equatable {
    /// The topic's name.
    public var name: String
    /// The form of its records.
    public var format: EventFormat
    /// How events become operations; empty when the convention is enough.
    public var routes: [RouteConfiguration]

    /// Creates a topic.
    public init(name: String, format: EventFormat = .cloudevents, routes: [RouteConfiguration] = []) {
        self.name = name
        self.format = format
        self.routes = routes
    }
}

/// Describes how replayed files with a matching name are read.
public struct FileConfiguration: Sendable, Equatable {
    /// The file's name, or a pattern with `*` and `?`.
    public var match: String
    /// The form of its records.
    public var format: EventFormat
    /// How records become operations.
    public var routes: [RouteConfiguration]

    /// Creates a mapping.
    public init(match: String, format: EventFormat = .cloudevents, routes: [RouteConfiguration] = []) {
        self.match = match
        self.format = format
        self.routes = routes
    }
}

/// Describes how one kind of event becomes an operation on an entity.
public struct RouteConfiguration: Sendable, Equatable {
    /// What the event does to the object.
    public enum Verb: String, Sendable, CaseIterable {
        /// Inserts or updates it.
        case upsert
        /// Deletes it.
        case delete
    }

    /// Where the object's identity is found.
    public enum Identity: Sendable, Equatable {
        /// A field of the record, as a dotted path.
        case field(String)
        /// The record's number (`$row`), for files without identities.
        case row
    }

    /// How dates are written in the event.
    public enum DateFormat: String, Sendable, CaseIterable {
        /// ISO-8601 text.
        case iso8601
        /// Seconds since 1970 UTC.
        case seconds
        /// Milliseconds since 1970 UTC.
        case milliseconds
        /// Microseconds since 1970 UTC.
        case microseconds
    }

    /// The event type that the route takes, or nil for any.
    public var type: String?
    /// The entity's name.
    public var entity: String
    /// The verb, or nil to take it from the event's type.
    public var verb: Verb?
    /// The identity, or nil for the model's identity attribute.
    public var identity: Identity?
    /// Text put before the identity.
    public var identityPrefix: String?
    /// The dotted path of the object that holds the properties, or nil for the record itself.
    public var data: String?
    /// The field that holds the event's type.
    public var typeField: String?
    /// The field that holds the event's time.
    public var timeField: String?
    /// Properties by the field names that stand for them.
    public var aliases: [String: String] = [:]
    /// Values by the property that always gets them.
    public var constants: [String: ConfigurationScalar] = [:]
    /// Fields that are not properties.
    public var ignore: [String] = []
    /// How dates are written.
    public var dates = DateFormat.iso8601

    /// Creates a route to an entity.
    public init(entity: String) {
        self.entity = entity
    }
}

/// Is a value that a configuration gives to a property.
public enum ConfigurationScalar: Sendable, Equatable {
    /// No value.
    case null
    /// True or false.
    case boolean(Bool)
    /// A whole number.
    case integer(Int64)
    /// A number.
    case double(Double)
    /// Text.
    case string(String)
}

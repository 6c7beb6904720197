import RecordDecoding
import RecordFiles

/// Describes one topic to consume.
public struct TopicConfiguration: Sendable, Equatable {
    /// The topic's name.
    public var name: String
    /// The form of its records.
    public var format: EventFormat
    /// How events become operations; empty when the convention is enough.
    public var routes: [RouteConfiguration]
    /// The texts that stand for null.
    public var nullValues: [String] = []
    /// Whether every store reads all of its partitions, where each partition of the other topics has a store of its
    /// own.
    public var broadcast = false
    /// Where it is written.
    public var place = ConfigurationPlace()

    /// Creates a topic.
    public init(name: String, format: EventFormat = .byDefault, routes: [RouteConfiguration] = []) {
        self.name = name
        self.format = format
        self.routes = routes
    }
}

/// Describes how replayed files with a matching name are read.
public struct FileConfiguration: Sendable, Equatable {
    /// The file's name, or a pattern with `*` and `?`; folders before the name where it has some: `general/*.json`.
    public var match: String
    /// The form of its records.
    public var format: EventFormat
    /// How records become operations.
    public var routes: [RouteConfiguration]
    /// The texts that stand for null.
    public var nullValues: [String] = []
    /// The character between the fields of a CSV row, or nil to recognise it.
    public var delimiter: CSVDelimiter?
    /// The character around CSV fields that hold delimiters; nil for none.
    public var quote: CSVQuote = .double
    /// Where it is written.
    public var place = ConfigurationPlace()

    /// Creates a mapping.
    public init(match: String, format: EventFormat = .byDefault, routes: [RouteConfiguration] = []) {
        self.match = match
        self.format = format
        self.routes = routes
    }
}

extension ConfigurationKey {
    static let topics = Self(
        "topics", \.topics,
        "The topics to consume: names, or mappings with a format and routes; docs/reference/formats.md and "
            + "docs/reference/routes.md explain them.",
        expected: "a list of names or {name, format, routes}", schema: .list(of: .topic), isList: true,
        reload: .takenForSameTopics, example: exampleOfTopics,
        show: { "[" + $0.map(\.summary).joined(separator: ", ") + "]" }
    ) { node, problems in
        node.topics(problems: &problems)
    }

    static let routes = Self(
        "routes", \.routes,
        "Routes of all topics and files, tried after their own; 'topic' with * and ? says which topics one takes.",
        expected: "a list of routes", schema: .list(of: .reference("route")), isList: true, reload: .taken,
        example: exampleOfRoutes, show: { $0.isEmpty ? "[]" : "\($0.count)" }
    ) { node, problems in
        node.routes(problems: &problems)
    }

    static let files = Self(
        "files", \.files, "How replayed files are read, by name; the first match wins.",
        expected: "a list of {match, format, routes}", schema: .list(of: .file), isList: true, reload: .taken,
        example: exampleOfFiles, show: { "[" + $0.map(\.summary).joined(separator: ", ") + "]" }
    ) { node, problems in
        node.files(problems: &problems)
    }

    private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    private static let exampleOfTopics = lines(
        #"""
           format: cloudevents (default; structured or binary mode), debezium (change events, with or without
                   the schema), maxwell, canal, dms (change events of other tools),
                   connect (rows of Kafka Connect's JSON converter, with or without the schema),
                   json (fields that routes name).
           routes: how a record becomes operations; not needed for events that follow the convention, where the type
                   message.upserted means the entity Message. For example:
             topics:
               - name: legacy-messages
                 format: json
                 routes:
                   - type: message.changed        # the event type that the route takes; any when left out
                     headers: { tenant: north }   # headers that the record must have
                     where: "payload.id != null"  # a condition on fields for the route to take the record
                     filter: "payload.draft != true"  # other records are skipped
                     entity: Message              # the entity
                     verb: upsert                 # upsert, delete, or drop; from the type when left out
                     identity: payload.id         # the field with the identity; the model's attribute when left out;
                                                  # a template "{site}-{id}", or $key, $header.NAME, $topic, $row
                     identityPrefix: "legacy-"    # text put before the identity
                     data: payload                # the object with the properties; the record itself when left out
                     typeField: kind              # the field that holds the event's type
                     timeField: happenedAt        # the field that holds the event's time
                     aliases: { text: body }      # field name: property
                     constants: { seq: 1 }        # property: value
                     defaults: { body: "-" }      # property: value where the record has none
                     fields: { chat: room.id }    # property: its value's path from the record's root, or a template
                     add: { members: joined }     # relationship to many: what it gains; 'remove' likewise
                     types: { sentAt: seconds }   # property: how its value is written
                     ignore: [debug]              # fields that are not properties; "*" for all that are none
                     dates: milliseconds          # iso8601 (default), seconds, milliseconds, microseconds,
                                                  # nanoseconds or "dd.MM.yyyy HH:mm"
                     zone: Europe/Berlin          # the zone of such dates; UTC when left out
                 nullValues: ["NA", ""]           # texts that stand for null
                 # broadcast: true                # with a store for each partition: every store reads all of it
        """#)

    private static let exampleOfRoutes = lines(
        #"""
        For example:
           routes:
             - { topic: "legacy-*", type: heartbeat, verb: drop }
        """#)

    private static let exampleOfFiles = lines(
        #"""
        For example:
           files:
             - match: "messages-*.jsonl"          # a name, or a pattern with * and ?; with folders: "general/*.json"
               format: json
               routes: [{ entity: Message, verb: upsert, identity: $row, identityPrefix: "import-" }]
        """#)
}

extension TopicConfiguration {
    fileprivate var summary: String {
        format == .byDefault && routes.isEmpty
            ? name : "{name: \(name), format: \(format.rawValue), routes: \(routes.count)}"
    }
}

extension FileConfiguration {
    fileprivate var summary: String { "{match: \"\(match)\", format: \(format.rawValue), routes: \(routes.count)}" }
}

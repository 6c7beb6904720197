/// Names the form of a topic's records or a file's lines.
public struct EventFormat: RawRepresentable, CaseIterable, Sendable, Equatable {
    /// The one list of formats. Topics and files that name no format have the first.
    public static let allCases: [EventFormat] = [
        .cloudevents, .json, .debezium, .connect, .maxwell, .canal, .dms,
    ]

    /// The format of topics and files that name none.
    public static let byDefault = allCases[0]

    /// The name in the configuration.
    public let rawValue: String
    let recordFormat: any RecordFormat

    /// Whether only routes can name the entity of a record.
    package var needsRoutes: Bool { recordFormat.needsRoutes }
    /// Whether the names in records are names of columns, which are folded to find the properties.
    package var takesColumns: Bool { recordFormat.takesColumns }

    /// The tool that writes change events of this format; nil for other formats.
    package var tool: ChangeEventTool? { recordFormat.tool }

    init(_ name: String, _ recordFormat: any RecordFormat) {
        rawValue = name
        self.recordFormat = recordFormat
    }

    /// Finds a format by its name in the configuration.
    public init?(rawValue: String) {
        guard let format = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = format
    }

    /// Formats of one name are the same.
    public static func == (left: EventFormat, right: EventFormat) -> Bool { left.rawValue == right.rawValue }
}

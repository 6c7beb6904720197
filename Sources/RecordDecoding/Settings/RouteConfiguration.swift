/// A jq program of a route.
public struct RouteProgram: Sendable, Equatable {
    /// The program.
    public var text: String
    /// Where it is written.
    public var place = ConfigurationPlace()

    /// Makes a program.
    public init(_ text: String) { self.text = text }

    /// The place of a line of the program, counted from 1; nil where there is none.
    func location(line: Int) -> String? {
        guard case .file(let path, let first, let column) = place.origin else { return place.location }
        return "\(ConfigurationOrigin.file(path: path, line: first + line - 1, column: line == 1 ? column : 1))"
    }
}

/// Describes how one kind of event becomes an operation on an entity.
public struct RouteConfiguration: Sendable, Equatable {
    /// The event's effect on the object.
    public enum Verb: String, Sendable, CaseIterable {
        /// Inserts or updates it.
        case upsert
        /// Deletes it.
        case delete
        /// Passes the record over.
        case drop
    }

    /// Where the object's identity is found.
    public enum Identity: Sendable, Equatable {
        /// A field of the record, as a dotted path, a variable such as `$key`, or a template such as `{site}-{number}`.
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
        /// Nanoseconds since 1970 UTC.
        case nanoseconds
    }

    /// How a value is written in the event, where that is not how its property is.
    public enum ValueForm: String, Sendable, CaseIterable {
        /// Text of the property's value: `"12"`, `"true"`, `"2026-01-02"`.
        case text
        /// A number, for a text, or 0 and 1 for a boolean.
        case number
        /// True or false, for a text or a number.
        case boolean
        /// Text that holds JSON, for a transformable attribute: `"{\"lang\":\"de\"}"`.
        case json
        /// ISO-8601 text, whatever `dates` says.
        case iso8601
        /// Days since 1970-01-01.
        case days
        /// Seconds since 1970 UTC.
        case seconds
        /// Milliseconds since 1970 UTC.
        case milliseconds
        /// Microseconds since 1970 UTC.
        case microseconds
        /// Nanoseconds since 1970 UTC.
        case nanoseconds
    }

    /// The topic that the route takes, with `*` and `?`, or nil for any.
    public var topic: String?
    /// The event type that the route takes, or nil for any.
    public var type: String?
    /// The table of a database that the route takes, alone or behind its schema's name, or nil for any.
    public var table: String?
    /// The headers that a record must have, by name, with their values.
    public var headers: [String: String] = [:]
    /// The condition on a record's fields for the route to take it, in the language of predicates, or nil.
    public var condition: String?
    /// The condition on a record's fields without which it is passed over, in the language of predicates, or nil.
    public var filter: String?
    /// The entity's name.
    public var entity: String
    /// The verb, or nil to take it from the event's type.
    public var verb: Verb?
    /// The identity, or nil for the model's identity attribute.
    public var identity: Identity?
    /// Text put before the identity.
    public var identityPrefix: String?
    /// The relationships whose identities get the prefix too; `*` for all.
    public var prefixReferences: [String] = []
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
    /// Values by the property that gets them where the record has none.
    public var defaults: [String: ConfigurationScalar] = [:]
    /// Properties with the path of their value from the record's root, or an expression.
    public var fields: [String: String] = [:]
    /// Relationships to many with the expression of an identity that is added.
    public var add: [String: String] = [:]
    /// Relationships to many with the expression of an identity that is removed.
    public var remove: [String: String] = [:]
    /// How values are written, by property.
    public var types: [String: ValueForm] = [:]
    /// The forms of dates, by property.
    public var typePatterns: [String: String] = [:]
    /// Arrays whose elements become objects of their own.
    public var splits: [SplitConfiguration] = []
    /// Fields that are not properties; `*` stands for all that are none.
    public var ignore: [String] = []
    /// How dates are written.
    public var dates = DateFormat.iso8601
    /// The form of dates that are texts, such as `dd.MM.yyyy HH:mm`, or nil for the form that `dates` names.
    public var datePattern: String?
    /// The zone of dates without an offset, such as `Europe/Berlin`, or nil for UTC.
    public var zone: String?
    /// Routes that make further objects of the record.
    public var also: [RouteConfiguration] = []
    /// The path of an array each element of which the routes take as a record of its own, or nil.
    public var each: String?
    /// The jq program that makes events of the record, instead of all that says what the route makes, or nil.
    public var program: RouteProgram?
    /// Where it is written.
    public var place = ConfigurationPlace()

    /// Creates a route to an entity.
    public init(entity: String) {
        self.entity = entity
    }
}

/// Describes how the elements of an array become objects that belong to the record's own.
public struct SplitConfiguration: Sendable, Equatable {
    /// The path of the array, the object or the map, from the record or the element around it.
    public var field: String
    /// The entity of the elements.
    public var entity: String
    /// The relationship of that entity that leads to the record's object; empty where `relationship` is given.
    public var parent: String
    /// The relationship of the record's object that leads to the elements, instead of `parent`.
    public var relationship: String?
    /// Whether an object's members are the elements, so that each one's key is `$name`.
    public var isMap = false
    /// The condition on an element's fields without which it is left out, or nil.
    public var filter: String?
    /// The identity of an element, or nil for the model's identity attribute; `row` counts from 1 in each array.
    public var identity: RouteConfiguration.Identity?
    /// Text put before the identity; `$parent` in it stands for the identity of the record's object.
    public var identityPrefix: String?
    /// Whether the elements are all that belong to the record's object, so that others are let go.
    public var replaces = false
    /// Whether elements that are let go are deleted.
    public var deletesLost = false
    /// Properties by the field names that stand for them.
    public var aliases: [String: String] = [:]
    /// Values by the property that always gets them.
    public var constants: [String: ConfigurationScalar] = [:]
    /// Values by the property that gets them where the element has none.
    public var defaults: [String: ConfigurationScalar] = [:]
    /// Properties with the path of their value from the element, or an expression.
    public var fields: [String: String] = [:]
    /// How values are written, by property.
    public var types: [String: RouteConfiguration.ValueForm] = [:]
    /// The forms of dates, by property.
    public var typePatterns: [String: String] = [:]
    /// Arrays inside the elements whose elements become objects of their own.
    public var splits: [SplitConfiguration] = []
    /// Fields that are not properties; `*` stands for all that are none.
    public var ignore: [String] = []
    /// Where it is written.
    public var place = ConfigurationPlace()

    /// Creates a split of a field's elements into an entity.
    public init(field: String, entity: String, parent: String) {
        self.field = field
        self.entity = entity
        self.parent = parent
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

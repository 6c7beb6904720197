import GraphCore

extension EventDecoder {
    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - model: the entities that events may name.
    ///   - format: how a record says what it is.
    ///   - routes: what makes events of records that do not say it themselves; the first that matches serves.
    ///   - place: names the topic or file in errors.
    ///   - position: where the topic or file stands in the configuration.
    ///   - limits: the greatest size and depth of a record.
    ///   - nullValues: the texts that stand for null.
    ///   - registry: gives the schemas that records name, or nil.
    /// - Throws: ``RouteError`` where a route does not fit the model, or a ``DecodeError`` that is retriable where the
    ///   process of a program cannot be started.
    public convenience init(
        model: ObjectModel, format: EventFormat, routes: [RouteConfiguration], place: String,
        position: ConfigurationPlace = ConfigurationPlace(), limits: LimitConfiguration = LimitConfiguration(),
        nullValues: [String] = [], registry: SchemaRegistry? = nil
    ) throws {
        try self.init(
            model: model, recordFormat: format.recordFormat, formatName: format.rawValue, routes: routes, place: place,
            position: position, limits: limits, nullValues: nullValues, registry: registry)
    }
}

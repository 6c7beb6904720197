extension SchemaFields {
    /// Returns the schema at a path that begins at a struct, or nil where there is none.
    static func schema(at path: RecordPath, in schema: JSONValue?) -> JSONValue? {
        var schema = schema
        for step in path.steps {
            switch step {
            case .key(let name): schema = Self.schema(of: name, in: schema)
            case .index: schema = schema?.member("items")
            }
        }
        return schema
    }
}

extension Attribute {
    func display(_ value: Value) -> String { type.text(of: value) }
}

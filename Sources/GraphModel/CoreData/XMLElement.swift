/// An element of an XML file with the lines it stands on.
struct XMLElement {
    struct Attribute {
        let name: String
        let value: String
        let line: Int
    }

    let name: String
    let line: Int
    var attributes: [Attribute] = []
    var children: [XMLElement] = []
    /// The text between the tags, white space at its ends removed.
    var text = ""

    /// Returns the attribute of a name, or nil.
    func attribute(_ name: String) -> Attribute? { attributes.first { $0.name == name } }

    /// Returns the child elements of a name.
    func children(named name: String) -> [XMLElement] { children.filter { $0.name == name } }

    /// The element as compact XML.
    var xml: String {
        let attributes = attributes.map { " \($0.name)=\"\(XMLText.escaped($0.value))\"" }.joined()
        let content = XMLText.escaped(text) + children.map(\.xml).joined()
        return content.isEmpty ? "<\(name)\(attributes)/>" : "<\(name)\(attributes)>\(content)</\(name)>"
    }
}

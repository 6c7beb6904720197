import Yams

// Single nodes of a YAML file, each read with its line.
extension YAMLModelReader {
    func line(_ node: Node) -> Int? { node.mark?.line }

    mutating func mapping(
        _ node: Node, _ label: String, allowed: Set<String>, line fallback: Int? = nil
    ) -> [String: Node]? {
        guard let mapping = node.mapping else {
            report(line(node) ?? fallback, "The \(label) is no mapping", "Write it as 'key: value' lines")
            return nil
        }
        var fields: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.string ?? ""
            if allowed.contains(name) {
                fields[name] = value
            } else {
                let known = allowed.sorted().joined(separator: ", ")
                report(line(key), "'\(name)' is no key of \(label)", "Known keys are: \(known)")
            }
        }
        return fields
    }

    mutating func pairs(_ node: Node?, _ label: String) -> [(String, Located<Node>)] {
        guard let node else { return [] }
        guard let mapping = node.mapping else {
            report(line(node), "The \(label) are no mapping", "Write them as 'name: {…}' lines")
            return []
        }
        return mapping.compactMap { key, value in
            guard let name = key.string else {
                report(line(key), "A name under \(label) is no text", "Use letters, digits and _")
                return nil
            }
            return (name, Located(content: value, line: line(key)))
        }
    }

    mutating func string(_ node: Node, _ label: String) -> String? {
        if let text = node.string { return text }
        report(line(node), "'\(label)' is no text", "Write a single value")
        return nil
    }

    mutating func located(_ node: Node?, _ label: String) -> Located<String>? {
        guard let node, let text = string(node, label) else { return nil }
        return Located(content: text, line: line(node))
    }

    /// Reads a mapping from names to single values.
    mutating func texts(_ node: Node?, _ label: String) -> [String: String] {
        var texts: [String: String] = [:]
        for (name, value) in pairs(node, label) { texts[name] = string(value.content, name) }
        return texts
    }

    mutating func boolean(_ node: Node?, _ label: String) -> Bool? {
        guard let node else { return nil }
        if let flag = node.bool { return flag }
        report(line(node), "'\(label)' is neither true nor false", "Write true or false")
        return nil
    }

    mutating func count(_ node: Node?, _ label: String) -> Int? {
        guard let node else { return nil }
        if let number = node.int, number >= 0 { return number }
        report(line(node), "'\(label)' is no whole number from 0 up", "Write a number")
        return nil
    }

    mutating func choice<Choice>(
        _ node: Node?, _ label: String
    ) -> Choice? where Choice: RawRepresentable & CaseIterable, Choice.RawValue == String {
        guard let node else { return nil }
        if let text = node.string, let choice = Choice(rawValue: text) { return choice }
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        report(line(node), "'\(node.string ?? "")' is no value of '\(label)'", "Use one of: \(known)")
        return nil
    }
}

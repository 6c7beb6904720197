import GraphCore

extension RouteUsage.Report {
    /// Returns the report as lines of text. A part that no record has is marked.
    ///
    /// - Parameter number: the route's number, from 1.
    package func text(number: Int) -> String {
        let head = "route \(number)  \(entity)\(location.map { "  \($0)" } ?? "")  took \(Self.records(records))"
        let lines = parts.map { part in
            "  \(part.name)  \(part.value)  " + (part.records == 0 ? "in no record" : "in \(part.records)")
        }
        return ([head] + lines + notices.map { "  notice: \($0)" }).joined(separator: "\n")
    }

    private static func records(_ count: Int) -> String {
        count == 0 ? "no record" : counted(count, "record")
    }

    /// Returns the report as a JSON object on one line.
    package func json(number: Int) -> String {
        JSONObject([
            "route": number, "entity": entity, "location": location, "records": records,
            "parts": parts.map { JSONObject(["name": $0.name, "value": $0.value, "records": $0.records]) },
            "notices": notices,
        ]).json
    }
}

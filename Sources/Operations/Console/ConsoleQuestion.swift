import GraphCore
import Hummingbird

/// The parameters of a question of the console.
struct ConsoleQuestion: Sendable {
    /// Refuses a parameter that cannot be understood.
    static func refusal(_ detail: String) -> HTTPRefusal {
        HTTPRefusal(status: .badRequest, code: "console.parameter", detail: "\(detail).")
    }

    private let parameters: [String: String]

    /// - Throws: ``HTTPRefusal`` where a parameter stands twice.
    init(_ request: Request) throws {
        var parameters: [String: String] = [:]
        for (name, value) in request.uri.queryParameters {
            if parameters.updateValue(String(value), forKey: String(name)) != nil {
                throw Self.refusal("A parameter stands twice")
            }
        }
        self.parameters = parameters
    }

    /// A parameter, or nil where it is missing or empty.
    subscript(name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }

    func text(_ name: String) throws -> String {
        guard let value = self[name] else { throw Self.refusal("'\(name)' is missing") }
        return value
    }

    /// A time in milliseconds since 1970, as microseconds; 0 where it is missing.
    func time(_ name: String) throws -> Int64 {
        guard let text = self[name] else { return 0 }
        guard let time = Int64(text), time >= 0, time < Int64.max / 1000 else {
            throw Self.refusal("'\(name)' is no time in milliseconds")
        }
        return time * 1000
    }

    /// The number of a row, or nil where it is missing.
    func number(_ name: String) throws -> Int64? {
        guard let text = self[name] else { return nil }
        if let number = Int64(text) { return number }
        throw Self.refusal("'\(name)' is no number")
    }

    func entity(_ model: ObjectModel) throws -> Entity {
        let name = try text("entity")
        guard let entity = model.entity(matching: name) else {
            throw Self.refusal("There is no such entity")
        }
        return entity
    }

    /// The request for a page of objects.
    func request(model: ObjectModel) throws -> CheckedFetchRequest {
        let entity = try entity(model)
        var request = FetchRequest(entity.name, where: self["where"])
        if let sort = self["sort"] { request.sort = try FetchRequest.parts(of: sort) }
        request.after = self["after"]
        request.limit = ConsoleAPI.pageLength
        return try request.checked(with: model)
    }
}

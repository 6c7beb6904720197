import Foundation

extension ObjectModel {
    /// Reads a model file (YAML).
    ///
    /// - Throws: ``ModelError`` with every mistake found, each with file, line and remedy.
    public static func load(path: String) throws(ModelError) -> ObjectModel {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw unreadable(path, "The model file cannot be read", "Check the path and its permissions")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw unreadable(path, "The model file is not UTF-8", "Save it as UTF-8")
        }
        return try parse(text, file: path)
    }

    /// Reads a model from the text of a YAML file; `file` names it in errors.
    ///
    /// - Throws: ``ModelError`` with every mistake found.
    public static func parse(_ text: String, file: String = "model.yaml") throws(ModelError) -> ObjectModel {
        var reader = YAMLModelReader(file: file)
        let declaration = reader.read(text)
        guard reader.problems.isEmpty else { throw ModelError(problems: reader.problems) }
        var builder = ModelBuilder(declaration, file: file)
        if let model = builder.build() { return model }
        throw ModelError(problems: builder.problems)
    }

    private static func unreadable(_ path: String, _ message: String, _ remedy: String) -> ModelError {
        ModelError(problems: [ModelError.Problem(file: path, line: nil, message: message, remedy: remedy)])
    }
}

import Foundation

/// Reads models from files.
package struct ModelLoader {
    private let checkCondition: IndexConditionCheck

    package init(checkCondition: @escaping IndexConditionCheck) { self.checkCondition = checkCondition }

    /// Reads a model: a YAML file, a Core Data `.xcdatamodel` folder, or the current version of a `.xcdatamodeld`.
    ///
    /// - Throws: ``ModelError`` with every mistake found, each with file, line and remedy.
    package func load(path: String) throws(ModelError) -> ObjectModel {
        guard CoreDataModelFile.isCoreDataModel(path) else {
            return try parse(try text(path), file: path)
        }
        let file = try CoreDataModelFile.find(path)
        guard let data = FileManager.default.contents(atPath: file.contents) else {
            throw ModelError(
                file: file.contents, "The model's contents cannot be read", remedy: "Check the path and its permissions"
            )
        }
        return try parse([UInt8](data), file: file)
    }

    /// Reads a model from the text of a YAML file; `file` names it in errors.
    ///
    /// - Throws: ``ModelError`` with every mistake found.
    package func parse(_ text: String, file: String) throws(ModelError) -> ObjectModel {
        var reader = YAMLModelReader(file: file)
        let declaration = reader.read(text)
        return try build(declaration, file: file, reader.problems)
    }

    /// Reads a model from the XML of a Core Data model.
    package func parse(_ xml: [UInt8], file: CoreDataModelFile) throws(ModelError) -> ObjectModel {
        var reader = CoreDataModelReader(file)
        let declaration = reader.read(xml)
        return try build(declaration, file: file.contents, reader.problems)
    }

    /// Builds a file's model and reports its mistakes together with the reader's findings.
    private func build(
        _ declaration: ModelDeclaration, file: String, _ problems: [ModelError.Problem]
    ) throws(ModelError) -> ObjectModel {
        // Where nothing could be read, there is nothing to say about it.
        if declaration.entities.isEmpty, !problems.isEmpty { throw ModelError(problems: problems) }
        var builder = ModelBuilder(declaration, file: file, checkCondition: checkCondition)
        let model = builder.build()
        if let model, problems.isEmpty { return model }
        let all = (problems + builder.problems).enumerated()
            .sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
        throw ModelError(problems: all.map(\.element))
    }

    private func text(_ path: String) throws(ModelError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            let tried = URL(fileURLWithPath: path).standardizedFileURL.path
            throw ModelError(
                file: path, "The model file \(tried) cannot be read",
                remedy: "Check the path, which is relative to the working directory, and its permissions")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw ModelError(file: path, "The model file is not UTF-8", remedy: "Save it as UTF-8")
        }
        return text
    }
}

extension ObjectModel {
    /// The same model with other columns, for stores of older layouts.
    package func laidOut(_ layout: ColumnLayout) -> ObjectModel {
        // The conditions were checked when the model was made.
        var builder = ModelBuilder(declaration, file: name, layout: layout) { _, _, _ in nil }
        return builder.build() ?? self
    }

    /// The model as a YAML file: the same text for the same model, and the same model when it is read again.
    public var yaml: String { YAMLModelWriter(declaration).text }

    /// Notes about its file: settings without effect here, and additions, a line each.
    public var notes: [String] { declaration.notes }
}

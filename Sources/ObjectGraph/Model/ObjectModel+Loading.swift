import Foundation

extension ObjectModel {
    /// Reads a model: a YAML file, a Core Data `.xcdatamodel` folder, or the current version of a `.xcdatamodeld`.
    ///
    /// - Throws: ``ModelError`` with every mistake found, each with file, line and remedy.
    public static func load(path: String) throws(ModelError) -> ObjectModel {
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

    /// Reads all versions of a `.xcdatamodeld` folder, in the order of their names.
    ///
    /// - Throws: ``ModelError`` of the first version that does not hold together.
    public static func loadVersions(path: String) throws(ModelError) -> [ObjectModel] {
        var models: [ObjectModel] = []
        for file in CoreDataModelFile.versions(of: path) { models.append(try load(path: file.contents)) }
        return models
    }

    /// Reads a model from the text of a YAML file; `file` names it in errors.
    ///
    /// - Throws: ``ModelError`` with every mistake found.
    public static func parse(_ text: String, file: String = "model.yaml") throws(ModelError) -> ObjectModel {
        var reader = YAMLModelReader(file: file)
        let declaration = reader.read(text)
        guard reader.problems.isEmpty else { throw ModelError(problems: reader.problems) }
        return try build(declaration, file: file)
    }

    /// Reads a model from the XML of a Core Data model.
    static func parse(_ xml: [UInt8], file: CoreDataModelFile) throws(ModelError) -> ObjectModel {
        var reader = CoreDataModelReader(file)
        let declaration = reader.read(xml)
        guard reader.problems.isEmpty else { throw ModelError(problems: reader.problems) }
        return try build(declaration, file: file.contents)
    }

    private static func build(_ declaration: ModelDeclaration, file: String) throws(ModelError) -> ObjectModel {
        var builder = ModelBuilder(declaration, file: file)
        if let model = builder.build() { return model }
        throw ModelError(problems: builder.problems)
    }

    private static func text(_ path: String) throws(ModelError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ModelError(file: path, "The model file cannot be read", remedy: "Check the path and its permissions")
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw ModelError(file: path, "The model file is not UTF-8", remedy: "Save it as UTF-8")
        }
        return text
    }

    /// The model as a YAML file: the same text for the same model, and the same model when it is read again.
    public var yaml: String { YAMLModelWriter(declaration).text }

    /// What its file says that has no effect here, and what was given to it: a line each.
    public var notes: [String] { declaration.notes }
}

extension ObjectModel {
    private static var loader: ModelLoader { ModelLoader(checkCondition: IndexCondition.problem) }

    /// Reads a model: a YAML file, a Core Data `.xcdatamodel` folder, or the current version of a `.xcdatamodeld`.
    ///
    /// - Throws: ``ModelError`` with every mistake found, each with file, line and remedy.
    public static func load(path: String) throws(ModelError) -> ObjectModel { try loader.load(path: path) }

    /// Reads a model from the text of a YAML file; `file` names it in errors.
    ///
    /// - Throws: ``ModelError`` with every mistake found.
    public static func parse(_ text: String, file: String = "model.yaml") throws(ModelError) -> ObjectModel {
        try loader.parse(text, file: file)
    }
}

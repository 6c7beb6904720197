import Foundation

/// Where a Core Data model is: a `.xcdatamodel` folder, or the current version of a `.xcdatamodeld` folder.
///
/// Source: the folders that Xcode writes; `.xccurrentversion` is a property list with the key `_XCCurrentVersionName`.
package struct CoreDataModelFile: Equatable, Sendable {
    /// The file with the XML.
    package let contents: String
    /// The model's name: the outer folder's, without its extension.
    package let name: String
    /// The version: what the inner folder's name has beyond the model's name, or 1.
    package let version: String

    package init(contents: String, name: String, version: String) {
        self.contents = contents
        self.name = name
        self.version = version
    }

    /// Tells whether a path has the form of a Core Data model.
    static func isCoreDataModel(_ path: String) -> Bool {
        ["xcdatamodel", "xcdatamodeld"].contains(url(path).pathExtension) || url(path).lastPathComponent == "contents"
    }

    /// Finds the model that a path names.
    ///
    /// - Throws: ``ModelError`` where there is no version, or the current one is missing.
    static func find(_ path: String) throws(ModelError) -> CoreDataModelFile {
        let url = url(path)
        switch url.pathExtension {
        case "xcdatamodeld": return try current(of: url)
        case "xcdatamodel": return version(url)
        default: return version(url.deletingLastPathComponent())
        }
    }

    /// Returns all versions in a `.xcdatamodeld` folder, in the order of their names, numbers by their value.
    package static func versions(of path: String) -> [CoreDataModelFile] {
        folders(in: url(path)).map(version)
    }

    private static func url(_ path: String) -> URL { URL(fileURLWithPath: path) }

    private static func folders(in bundle: URL) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: bundle.path)) ?? []
        return names.filter { $0.hasSuffix(".xcdatamodel") }.sorted(by: comesBefore)
            .map { bundle.appendingPathComponent($0) }
    }

    /// 'Model 9' comes before 'Model 10', and 'Model' before both.
    private static func comesBefore(_ left: String, _ right: String) -> Bool {
        let left = left.replacingOccurrences(of: ".xcdatamodel", with: "")
        let right = right.replacingOccurrences(of: ".xcdatamodel", with: "")
        return left.compare(right, options: .numeric) == .orderedAscending
    }

    private static func version(_ folder: URL) -> CoreDataModelFile {
        let own = folder.deletingPathExtension().lastPathComponent
        let bundle = folder.deletingLastPathComponent()
        let isInBundle = bundle.pathExtension == "xcdatamodeld"
        let name = isInBundle ? bundle.deletingPathExtension().lastPathComponent : own
        let rest = own.hasPrefix(name) ? String(own.dropFirst(name.count)) : own
        let version = rest.trimmingCharacters(in: CharacterSet(charactersIn: " _-"))
        return CoreDataModelFile(
            contents: folder.appendingPathComponent("contents").path, name: name,
            version: version.isEmpty ? "1" : version)
    }

    private static func current(of bundle: URL) throws(ModelError) -> CoreDataModelFile {
        let folders = folders(in: bundle)
        guard let first = folders.first else {
            throw error(bundle.path, "There is no model version in this folder", "Name a folder that Xcode made")
        }
        let list = bundle.appendingPathComponent(".xccurrentversion")
        guard FileManager.default.fileExists(atPath: list.path) else { return version(first) }
        guard let name = currentName(list) else {
            throw error(
                list.path, "This is no property list with a '_XCCurrentVersionName'",
                "Correct it, or name one of the versions itself")
        }
        guard let found = folders.first(where: { $0.lastPathComponent == name }) else {
            let known = folders.map(\.lastPathComponent).joined(separator: ", ")
            throw error(list.path, "The current version '\(name)' is not there", "There are: \(known)")
        }
        return version(found)
    }

    private static func currentName(_ list: URL) -> String? {
        guard let data = try? Data(contentsOf: list), data.count <= 65_536,
            let content = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
        else { return nil }
        return content["_XCCurrentVersionName"] as? String
    }

    private static func error(_ file: String, _ message: String, _ remedy: String) -> ModelError {
        ModelError(problems: [ModelError.Problem(file: file, line: nil, message: message, remedy: remedy)])
    }
}

import Foundation
import RecordFiles

/// Files that are parts of one table, such as one file a month, or one file alone.
package struct FileGroup: Sendable {
    /// The files, in the order of the command.
    package let paths: [String]
    /// The name that finds them in a configuration, maybe with a `*`; nil for the name of the only path.
    package let match: String?
    /// The name of the table where the files have several, else nil.
    let stem: String?
    /// Whether the records are rows of a table.
    let isTable: Bool

    /// Makes a group of one file.
    package init(path: String) throws { self.init([try Candidate(path)], match: nil, stem: nil) }

    private init(_ files: [Candidate], match: String?, stem: String?) {
        paths = files.map(\.path)
        (self.match, self.stem, isTable) = (match, stem, files[0].isTable)
    }

    /// A file with the parts of its name.
    private struct Candidate {
        let path: String
        let name: String
        let isTable: Bool
        let columns: [String]
        /// The name without numbers at its beginning and its end.
        let stem: String
        /// The same with a `*` for the numbers.
        let pattern: String

        init(_ path: String) throws {
            let reader = try RecordFileReader(path: path)
            (self.path, name) = (path, URL(filePath: path).lastPathComponent)
            (isTable, columns) = (reader.format == .csv, reader.columns)
            let dot = name.firstIndex(of: ".") ?? name.endIndex
            let base = name[..<dot]
            func isPart(_ character: Character) -> Bool { character.isNumber || "-_ ".contains(character) }
            let begin = base.firstIndex { !isPart($0) } ?? base.startIndex
            let end = base.lastIndex { !isPart($0) }.map { base.index(after: $0) } ?? base.endIndex
            // A separator alone is no number.
            let head = base[..<begin].contains(where: \.isNumber) ? begin : base.startIndex
            let tail = base[end...].contains(where: \.isNumber) ? end : base.endIndex
            stem = String(base[head..<tail])
            func separators(_ part: Substring) -> Substring { part.prefix { !$0.isNumber } }
            let last = String(separators(Substring(base[head..<begin].reversed())).reversed())
            let first = String(separators(base[tail...]))
            pattern =
                (head == base.startIndex ? "" : "*" + String(last)) + stem
                + (tail == base.endIndex ? "" : first + "*") + name[dot...]
        }

        /// Tells whether two files hold one table. Files of one name do so if they share most columns.
        func isLike(_ other: Candidate) -> Bool {
            guard isTable == other.isTable else { return false }
            if name == other.name {
                let common = Set(columns).intersection(other.columns).count
                return !isTable || common * 2 >= min(columns.count, other.columns.count)
            }
            return !stem.isEmpty && pattern == other.pattern && columns == other.columns
        }
    }

    /// Groups the files of a command.
    ///
    /// - Throws: ``RecordFileError``, and ``InferenceError`` with code `init.name` where one name is of two tables.
    package static func groups(of paths: [String]) throws -> [FileGroup] {
        var groups: [[Candidate]] = []
        for file in try paths.map({ try Candidate($0) }) {
            if let index = groups.firstIndex(where: { $0[0].isLike(file) }) {
                groups[index].append(file)
            } else {
                groups.append([file])
            }
        }
        let names = groups.map { Set($0.map(\.name)) }
        return try groups.enumerated().map { index, files in
            let others = names.indices.filter { $0 != index }.reduce(into: Set<String>()) { $0.formUnion(names[$1]) }
            if let name = names[index].first(where: others.contains) {
                throw InferenceError(
                    "init.name", "\(files[0].path): another file of the name \(name) has other columns",
                    remedy: "Each needs a name of its own, for its route. Rename it.")
            }
            guard files.count > 1 else { return FileGroup(files, match: nil, stem: nil) }
            return names[index].count == 1
                ? FileGroup(files, match: files[0].name, stem: nil)
                : FileGroup(files, match: files[0].pattern, stem: files[0].stem)
        }
    }
}

/// Formats fetched objects as a table for terminals.
public struct FetchedTable {
    /// The maximum width of a column; longer values end in `…`.
    public var maximumColumnWidth = 40

    /// Makes a table with the standard widths.
    public init() {}

    /// Returns the table: a heading, a rule, and a line for each object or row; empty without objects.
    public func text(_ objects: [some FetchedContents]) -> String {
        guard let shape = objects.first?.shape else { return "" }
        var rows = [shape.columns.map { cell($0.name) }]
        rows += objects.map { row($0, shape) }
        let widths = shape.columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { line($0, widths, shape) }
        lines.insert(widths.map { String(repeating: "─", count: $0) }.joined(separator: "  "), at: 1)
        return lines.joined(separator: "\n") + "\n"
    }

    private func row(_ object: some FetchedContents, _ shape: FetchShape) -> [String] {
        shape.columns.enumerated().map { position, column in
            switch object.contents[position] {
            case .value(let value): cell(value.isNull ? "" : column.type.text(of: value))
            case .list(let values): cell(values.map { column.type.text(of: $0) }.joined(separator: ", "))
            }
        }
    }

    /// Shortens a text and makes control characters visible, so that a value cannot control the terminal.
    private func cell(_ text: String) -> String {
        // A character may have several scalars; this many suffice for any sensible width.
        let visible = String(text.unicodeScalars.prefix(4 * maximumColumnWidth + 1)).withoutControls()
        guard visible.count > maximumColumnWidth else { return visible }
        return String(visible.prefix(max(1, maximumColumnWidth) - 1)) + "…"
    }

    private func line(_ cells: [String], _ widths: [Int], _ shape: FetchShape) -> String {
        var line = ""
        for (position, cell) in cells.enumerated() {
            if position > 0 { line += "  " }
            let padding = String(repeating: " ", count: widths[position] - cell.count)
            let isRight = shape.columns[position].type.isNumeric && !shape.columns[position].isToMany
            line += isRight ? padding + cell : cell + padding
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}

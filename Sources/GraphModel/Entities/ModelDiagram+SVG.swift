extension ModelDiagram {
    /// The model as an SVG picture: a box for each entity, a line for each relationship with its inverse.
    ///
    /// Lines and texts have the colour of the surrounding text. There is no style sheet, so a page with a strict policy can
    /// show the picture.
    public var svg: String { SVGDrawing(model).text }
}

/// Lays the entities out, and draws them.
private struct SVGDrawing {
    private struct Box {
        let entity: Entity
        let lines: [String]
        var x = 0.0
        var y = 0.0
        let width: Double
        let height: Double

        var middle: (x: Double, y: Double) { (x + width / 2, y + height / 2) }

        /// Where the line to another box's middle leaves this box.
        func border(towards other: Box) -> (x: Double, y: Double) {
            let (x, y) = (other.middle.x - middle.x, other.middle.y - middle.y)
            let scale = min(
                x == 0 ? .infinity : width / 2 / x.magnitude, y == 0 ? .infinity : height / 2 / y.magnitude, 1)
            return (middle.x + x * scale, middle.y + y * scale)
        }

        init(_ entity: Entity) {
            self.entity = entity
            lines = entity.ownAttributes.filter { $0.name != HiddenIdentity.name }.map { attribute in
                let mark = attribute.slot == entity.identitySlot ? " (identity)" : attribute.isOptional ? "?" : ""
                return "\(attribute.isDerived ? "/" : "")\(attribute.name): \(attribute.type.rawValue)\(mark)"
            }
            let longest = max(entity.name.count + 2, lines.map(\.count).max() ?? 0)
            width = Double(longest) * SVGDrawing.letterWidth + 24
            height = SVGDrawing.headHeight + Double(lines.count) * SVGDrawing.lineHeight + 10
        }
    }

    private static let letterWidth = 7.4
    private static let lineHeight = 18.0
    private static let headHeight = 30.0
    private static let gap = (x: 190.0, y: 60.0)

    private let model: ObjectModel
    private var boxes: [Box]
    private var size = (width: 0.0, height: 0.0)

    init(_ model: ObjectModel) {
        self.model = model
        boxes = model.entities.map { Box($0) }
        place()
    }

    /// Places the boxes in columns: the neighbours of a column's entities stand in the next one. Parts of the model without
    /// a connection stand below each other.
    private mutating func place() {
        var top = 10.0
        for columns in groups() {
            var (x, bottom) = (10.0, top)
            for column in columns {
                var y = top
                for index in column {
                    (boxes[index].x, boxes[index].y) = (x, y)
                    y += boxes[index].height + Self.gap.y
                }
                bottom = max(bottom, y)
                x += (column.map { boxes[$0].width }.max() ?? 0) + Self.gap.x
            }
            size.width = max(size.width, x - Self.gap.x + 60)
            top = bottom
        }
        size.height = top - Self.gap.y + 10
    }

    /// The entities by connected part and by column: each part begins with the entity that has most neighbours.
    private func groups() -> [[[Int]]] {
        var neighbours = Array(repeating: [Int](), count: boxes.count)
        func connect(_ one: Int, _ other: Int) {
            neighbours[one].append(other)
            neighbours[other].append(one)
        }
        for (relationship, _) in model.relationshipPairs {
            connect(relationship.entityIndex, relationship.destinationIndex)
        }
        for entity in model.entities {
            if let parent = entity.parentIndex { connect(entity.index, parent) }
        }
        var isPlaced = Array(repeating: false, count: boxes.count)
        var groups: [[[Int]]] = []
        for start in boxes.indices.sorted(by: { (-neighbours[$0].count, $0) < (-neighbours[$1].count, $1) })
        where !isPlaced[start] {
            isPlaced[start] = true
            var columns = [[start]]
            while let last = columns.last, !last.isEmpty {
                var next: [Int] = []
                for neighbour in last.flatMap({ neighbours[$0] }) where !isPlaced[neighbour] {
                    isPlaced[neighbour] = true
                    next.append(neighbour)
                }
                columns.append(next)
            }
            groups.append(columns)
        }
        return groups
    }

    // MARK: Drawing

    var text: String {
        let lines = model.relationshipPairs.map { line($0.relationship, $0.inverse) } + parents()
        return """
            <svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="The model \(XMLText.escaped(model.name))" \
            viewBox="0 0 \(Int(size.width)) \(Int(size.height))" width="\(Int(size.width))" \
            font-family="system-ui, sans-serif" font-size="13" fill="currentColor">
            \(lines.joined(separator: "\n"))
            \(boxes.map(draw).joined(separator: "\n"))
            </svg>

            """
    }

    private func draw(_ box: Box) -> String {
        var text = """
            <g class="entity" data-entity="\(XMLText.escaped(box.entity.name))">\
            <rect class="box" x="\(box.x)" y="\(box.y)" width="\(box.width)" height="\(box.height)" rx="8" \
            fill="Canvas" stroke="currentColor"/>\
            <text x="\(box.x + 12)" y="\(box.y + 20)" font-weight="600">\(XMLText.escaped(box.entity.name))</text>
            """
        for (number, line) in box.lines.enumerated() {
            let y = box.y + Self.headHeight + Double(number) * Self.lineHeight + 12
            text += "<text x=\"\(box.x + 12)\" y=\"\(y)\" opacity=\"0.75\">\(XMLText.escaped(line))</text>"
        }
        return text + "</g>"
    }

    /// A line with the names of both ends and their delete rules; a curve where an entity leads to itself.
    private func line(_ relationship: Relationship, _ inverse: Relationship?) -> String {
        let ends = [relationship, inverse].compactMap { end in
            end.map { "\($0.name)\($0.isToMany ? " (many)" : ""): \($0.deleteRule.rawValue)" }
        }
        let (from, to) = (boxes[relationship.entityIndex], boxes[relationship.destinationIndex])
        let path: String
        let middle: (x: Double, y: Double)
        if relationship.entityIndex == relationship.destinationIndex {
            let (right, top) = (from.x + from.width, from.y)
            path = "M \(right) \(top + 12) c 50 -30 50 50 0 24"
            middle = (right + 40, top + 60)
        } else {
            let (start, end) = (from.border(towards: to), to.border(towards: from))
            path = "M \(start.x) \(start.y) L \(end.x) \(end.y)"
            middle = ((start.x + end.x) / 2, (start.y + end.y) / 2)
        }
        // Pairs of one couple of entities stand below each other.
        let pairs = model.relationshipPairs.filter {
            Set([$0.relationship.entityIndex, $0.relationship.destinationIndex])
                == Set([relationship.entityIndex, relationship.destinationIndex])
        }
        let number = pairs.firstIndex { $0.relationship === relationship } ?? 0
        let label = ends.enumerated().map { index, end in
            let y = middle.y - 6 + Double(index + number * 2) * 14
            return "<text x=\"\(middle.x)\" y=\"\(y)\" text-anchor=\"middle\" font-size=\"11\" "
                + "stroke=\"Canvas\" stroke-width=\"4\" paint-order=\"stroke\">\(XMLText.escaped(end))</text>"
        }
        return "<path d=\"\(path)\" fill=\"none\" stroke=\"currentColor\" opacity=\"0.45\"/>" + label.joined()
    }

    private func parents() -> [String] {
        boxes.compactMap { box in
            guard let parent = box.entity.parentIndex.map({ boxes[$0] }) else { return nil }
            return
                "<path d=\"M \(box.middle.x) \(box.middle.y) L \(parent.middle.x) \(parent.middle.y)\" fill=\"none\" "
                + "stroke=\"currentColor\" stroke-dasharray=\"5 4\" opacity=\"0.6\"/>"
        }
    }
}

extension String {
    /// The text with a dot for each character that could control a terminal, or turn the order of its letters. Line
    /// feeds and tabs stay.
    package var visible: String { withoutControls(except: ["\n", "\t"]) }

    /// Returns the text with a dot for each control and format character, and for each separator of lines.
    package func withoutControls(except kept: Set<Unicode.Scalar> = []) -> String {
        var visible = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isShown = kept.contains(scalar) || !scalar.properties.generalCategory.isControl
            visible.append(isShown ? scalar : "·")
        }
        return String(visible)
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isControl: Bool {
        switch self {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// Writes a number of things: `1 record`, `2 records`, `3 entities`.
///
/// - Parameters:
///   - noun: the thing's name; its last word gets the ending.
///   - number: the number's text where it is written otherwise, as with commas between the thousands.
package func counted(_ count: some BinaryInteger, _ noun: String, as number: String? = nil) -> String {
    let text = number ?? "\(count)"
    if count == 1 { return "\(text) \(noun)" }
    let beforeLast = noun.dropLast().last
    if noun.hasSuffix("y"), let beforeLast, !"aeiou".contains(beforeLast) {
        return "\(text) \(noun.dropLast())ies"
    }
    return "\(text) \(noun)\(["s", "x", "ch", "sh"].contains { noun.hasSuffix($0) } ? "es" : "s")"
}

/// A whole number with a comma between thousands; one decimal where there is one.
package func grouped(_ number: Double) -> String {
    let whole = Int(number)
    var text = ""
    for (index, digit) in String(whole).reversed().enumerated() {
        if index > 0, index % 3 == 0 { text = "," + text }
        text = String(digit) + text
    }
    let rest = Int((number * 10).rounded()) - whole * 10
    return rest == 0 ? text : "\(text).\(rest)"
}

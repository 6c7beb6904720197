/// A place in the order of a request: an object's sort values and primary key.
package struct FetchPosition: Sendable, Equatable {
    package let pk: Int64
    package let values: [Value]

    package init(pk: Int64, values: [Value]) {
        self.pk = pk
        self.values = values
    }

    /// Tells whether an object at this place comes before one at another place.
    ///
    /// Missing values come before all others, and texts compare by their UTF-8 bytes. Primary keys decide between equal
    /// objects, in the direction of the last sort key. Objects that are not saved yet come behind equal saved ones, in
    /// the order of their making.
    package func precedes(_ other: FetchPosition, in sort: [CheckedSort]) -> Bool {
        if let precedes = precedesByValues(other, in: sort) { return precedes }
        let isDescending = sort.last?.isDescending ?? false
        if (pk < 0) != (other.pk < 0) { return (other.pk < 0) != isDescending }
        return isDescending ? pk > other.pk : pk < other.pk
    }

    /// Tells whether an object at this place comes before one at another place by its sort values; nil where these are
    /// equal.
    package func precedesByValues(_ other: FetchPosition, in sort: [CheckedSort]) -> Bool? {
        for (index, key) in sort.enumerated() {
            let order = ValueOrder.compare(
                values[index], other.values[index], asDecimals: key.expression.type.isDecimal)
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        return nil
    }
}

extension FetchCursor {
    package var position: FetchPosition { FetchPosition(pk: pk, values: values) }
}

extension CheckedFetchRequest {
    /// Returns the text for ``FetchRequest/after`` of a place in this request's order.
    package func cursorText(at position: FetchPosition) -> String {
        FetchCursor(fingerprint: fingerprint, pk: position.pk, values: position.values).text
    }
}

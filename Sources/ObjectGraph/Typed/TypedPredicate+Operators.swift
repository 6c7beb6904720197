import GraphCore

// Comparisons of properties with values. The compiler checks the types.

/// True if the property has the value; `nil` means a missing value.
public func == <Root: TypedObject, Content: AttributeValue>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .equal, value.predicateExpression) }

/// True if the property does not have the value; `nil` means a missing value.
public func != <Root: TypedObject, Content: AttributeValue>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .notEqual, value.predicateExpression) }

/// True if the relationship leads to the object; `nil` means no destination.
public func == <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Destination?
) -> TypedPredicate<Root> { .compare(path, .equal, try identity(object)) }

/// True if the relationship does not lead to the object; `nil` means no destination.
public func != <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Destination?
) -> TypedPredicate<Root> { .compare(path, .notEqual, try identity(object)) }

/// True if the relationship leads to the object.
public func == <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Snapshot<Destination>
) -> TypedPredicate<Root> { .compare(path, .equal, object.identityExpression) }

/// True if the relationship does not lead to the object.
public func != <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Snapshot<Destination>
) -> TypedPredicate<Root> { .compare(path, .notEqual, object.identityExpression) }

private func identity(_ object: TypedObject?) throws(FetchPredicateError) -> FetchPredicate.Expression {
    guard let object else { return .null }
    do {
        let managed = try object.managed()
        return .literal(Literal(Literal.Content(try managed.identity, managed.entity.identity.type)))
    } catch {
        throw FetchPredicateError(
            .arguments, "An object that is compared with cannot be read: \(error)", at: nil,
            remedy: "Compare with an object that is in the store")
    }
}

/// True if the property is less than the value.
public func < <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .less, value.predicateExpression) }

/// True if the property has a value, and that is less than the other.
public func < <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .less, value.predicateExpression) }

/// True if the property is at most the value.
public func <= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .lessOrEqual, value.predicateExpression) }

/// True if the property has a value, and that is at most the other.
public func <= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .lessOrEqual, value.predicateExpression) }

/// True if the property is greater than the value.
public func > <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greater, value.predicateExpression) }

/// True if the property has a value, and that is greater than the other.
public func > <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greater, value.predicateExpression) }

/// True if the property is at least the value.
public func >= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greaterOrEqual, value.predicateExpression) }

/// True if the property has a value, and that is at least the other.
public func >= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greaterOrEqual, value.predicateExpression) }

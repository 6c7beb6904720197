// Comparisons of properties with values. What compares is checked by the compiler.

/// True where the property has the value; `nil` stands for none.
public func == <Root: TypedObject, Content: AttributeValue>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .equal, value.predicateExpression) }

/// True where the property does not have the value; `nil` stands for none.
public func != <Root: TypedObject, Content: AttributeValue>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .notEqual, value.predicateExpression) }

/// True where the relationship leads to the object; `nil` stands for none.
public func == <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Destination?
) -> TypedPredicate<Root> { .compare(path, .equal, try identity(object)) }

/// True where the relationship does not lead to the object; `nil` stands for none.
public func != <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Destination?
) -> TypedPredicate<Root> { .compare(path, .notEqual, try identity(object)) }

/// True where the relationship leads to the object.
public func == <Root: TypedObject, Destination: TypedObject>(
    path: KeyPath<Root, Destination?>, object: Snapshot<Destination>
) -> TypedPredicate<Root> { .compare(path, .equal, object.identityExpression) }

/// True where the relationship does not lead to the object.
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

/// True where the property comes before the value.
public func < <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .less, value.predicateExpression) }

/// True where the property has a value that comes before the value.
public func < <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .less, value.predicateExpression) }

/// True where the property does not come after the value.
public func <= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .lessOrEqual, value.predicateExpression) }

/// True where the property has a value that does not come after the value.
public func <= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .lessOrEqual, value.predicateExpression) }

/// True where the property comes after the value.
public func > <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greater, value.predicateExpression) }

/// True where the property has a value that comes after the value.
public func > <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greater, value.predicateExpression) }

/// True where the property does not come before the value.
public func >= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greaterOrEqual, value.predicateExpression) }

/// True where the property has a value that does not come before the value.
public func >= <Root: TypedObject, Content: AttributeValue & Comparable>(
    path: KeyPath<Root, Content?>, value: Content
) -> TypedPredicate<Root> { .compare(path, .greaterOrEqual, value.predicateExpression) }

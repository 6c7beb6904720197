import GraphCore

/// A view on a managed object, such as an object of a program's own class.
protocol ObjectView: AnyObject {
    /// The context's object of this view.
    func managed() throws(EditingError) -> ManagedObject
}

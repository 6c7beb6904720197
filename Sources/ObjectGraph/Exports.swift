// A program imports ObjectGraph alone and has the model's types with it.
@_exported import GraphModel

// A module that imports the graph's core has the model's types with it.
@_exported import GraphModel

@_exported import GraphCore

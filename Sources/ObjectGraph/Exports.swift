// A program imports ObjectGraph alone and has the types of all its parts with it.
@_exported import GraphCore
@_exported import SQLiteStorage

// A program that reads configurations or files gets the types that they are made of.
@_exported import RecordDecoding
@_exported import RecordFiles

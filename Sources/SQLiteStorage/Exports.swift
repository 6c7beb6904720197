@_exported import StoreSQL

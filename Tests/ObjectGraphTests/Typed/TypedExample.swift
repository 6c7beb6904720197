import Foundation
import ObjectGraph

final class Album: TypedObject {
    enum Medium: String, CaseIterable, AttributeValue { case disc, tape, file }

    @Identity var id: String
    @Field(maxLength: 200) var title: String
    @Field var medium: Medium = .disc
    @Field var releasedAt: Date?
    @Derived("songs.@count") var songsCount: Int
    @ToMany(inverse: \Song.album, delete: .cascade, ordered: true) var songs: [Song]
}

final class Song: TypedObject {
    @Identity var id: UUID
    @Field var name: String
    @Field(min: 0) var seconds: Int = 0
    @ToOne var album: Album?
}

/// Keeps albums in a store, and returns what is in it in the end.
func keepAlbums(at path: String) throws -> [String] {
    let model = try ObjectModel(name: "albums", version: "1", entities: [Album.self, Song.self])
    let store = try Store.open(path: path, model: model)
    let writer = try WriterContext(store: store)
    let context = try EditingContext(writer)

    // Changes objects, then saves them.
    let album = try context.insert(Album.self, id: "a1")
    album.title = "Harbour"
    album.medium = .tape
    for (name, seconds) in [("Tide", 310), ("Mole", 95), ("Crane", 240)] {
        let song = try context.insert(Song.self)
        song.name = name
        song.seconds = seconds
        album.songs.append(song)
    }
    try context.save()

    // Fetches objects to change.
    let long = try context.fetch(
        Song.self, where: \.seconds > 120 && \.album?.medium == .tape, sort: [.descending(\.seconds)])
    long.first?.name = "High Tide"
    try context.save()

    // Reads a snapshot of the store; what it delivers cannot be set.
    let lines = try store.read { store in
        let albums = try store.fetch(Album.self, where: \.songs.count > 2 && .any(\.songs, \.seconds > 300))
        return try albums.map { album in
            let songs = try store.destinations(of: album, \.songs, sort: [.ascending(\.name)])
            return "\(album.title): \(album.songsCount) songs, \(songs.map(\.name).joined(separator: ", "))"
        }
    }
    try writer.close()
    return lines
}

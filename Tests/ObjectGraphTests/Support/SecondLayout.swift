/// A store as programs of the second layout made it, in which attributes of one name shared a column whatever their types:
/// the model, the tables and rows as `sqlite3 .dump` tells them without the views, and the canonical dump of that time.
enum SecondLayout {
    static let model = """
        model: old
        version: 1
        entities:
          Item: { abstract: true, identity: id, attributes: { id: { type: string }, name: { type: string, optional: true } } }
          Note:
            parent: Item
            attributes:
              amount: { type: string, optional: true, indexed: true }
              seen: { type: boolean, optional: true }
              rank: { type: integer32, optional: true, unique: true }
            relationships:
              folder: { to: Folder, inverse: notes, optional: true }
          Task:
            parent: Item
            attributes:
              amount: { type: decimal, optional: true, indexed: true, preserveAfterDeletion: true }
              seen: { type: date, optional: true }
              rank: { type: integer32, optional: true }
            indexes: [[amount, seen]]
          Visit:
            parent: Task
            attributes:
              body: { type: binary, optional: true }
          Letter:
            parent: Note
            attributes:
              body: { type: string, optional: true }
          Folder:
            identity: id
            attributes: { id: { type: string }, total: { type: integer64, derived: notes.@count } }
            relationships:
              notes: { to: Note, many: true, inverse: folder, ordered: true }
        """

    static let dump = """
        entity Folder
        object Folder "f1"
          id="f1"
          total=2
          notes=["n1", "n2"]
        object Folder "f2" placeholder
          id="f2"
          total=1
          notes=["l1"]
        entity Item
        entity Letter
        object Letter "l1"
          id="l1"
          name=null
          amount="12.50"
          seen=true
          rank=null
          body="AQID"
          folder="f2"
        entity Note
        object Note "n1"
          id="n1"
          name="One"
          amount="007"
          seen=true
          rank=1
          folder="f1"
        object Note "n2"
          id="n2"
          name=null
          amount="none"
          seen=false
          rank=2
          folder="f1"
        entity Task
        object Task "t1"
          id="t1"
          name=null
          amount=12.5
          seen=2026-03-02T07:15:00Z
          rank=1
        entity Visit
        object Visit "v1"
          id="v1"
          name=null
          amount=100000000000000000000
          seen=null
          rank=null
          body=AQID
        tombstones
          Item "t2" version=null

        """

    static let sql = #"""
        CREATE TABLE _metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        INSERT INTO _metadata VALUES('formatVersion','2');
        INSERT INTO _metadata VALUES('model','old');
        INSERT INTO _metadata VALUES('modelHash','e01d3e347bbcc0ac');
        INSERT INTO _metadata VALUES('modelShape',replace('e Folder id \na id string   \na total integer64   notes.@count\nr notes many Note folder  ordered\ne Item id  abstract\na id string   \na name string   \ne Letter id  parent Note\na body string   \ne Note id  parent Item\na amount string  indexed \na rank integer32 unique  \na seen boolean   \nr folder one Folder notes \ne Task id  parent Item\na amount decimal  indexed \na rank integer32   \na seen date   \ni amount,seen\ne Visit id  parent Task\na body binary   ','\n',char(10)));
        INSERT INTO _metadata VALUES('modelVersion','1');
        INSERT INTO _metadata VALUES('modelYAML',replace('model: old\nversion: "1"\nentities:\n  Item:\n    abstract: true\n    identity: id\n    attributes:\n      id: { type: string }\n      name: { type: string, optional: true }\n  Note:\n    parent: Item\n    attributes:\n      amount: { type: string, optional: true, indexed: true }\n      seen: { type: boolean, optional: true }\n      rank: { type: integer32, optional: true, unique: true }\n    relationships:\n      folder: { to: Folder, inverse: notes, delete: nullify, optional: true }\n  Task:\n    parent: Item\n    attributes:\n      amount: { type: decimal, optional: true, indexed: true, preserveAfterDeletion: true }\n      seen: { type: date, optional: true }\n      rank: { type: integer32, optional: true }\n    indexes:\n      - [amount, seen]\n  Visit:\n    parent: Task\n    attributes:\n      body: { type: binary, optional: true }\n  Letter:\n    parent: Note\n    attributes:\n      body: { type: string, optional: true }\n  Folder:\n    identity: id\n    attributes:\n      id: { type: string }\n      total: { type: integer64, derived: "notes.@count" }\n    relationships:\n      notes: { to: Note, many: true, ordered: true, inverse: folder, delete: nullify }\n','\n',char(10)));
        INSERT INTO _metadata VALUES('storeID','f994d8dc-a67a-446a-aeb9-6f7096b2c002');
        CREATE TABLE _sequence (entity TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO _sequence VALUES('Folder',3);
        INSERT INTO _sequence VALUES('Item',7);
        CREATE TABLE _history_transaction (token INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, author TEXT NOT NULL, context TEXT, source TEXT, firstChange INTEGER NOT NULL, changeCount INTEGER NOT NULL);
        INSERT INTO _history_transaction VALUES(1,1795402830325819,'ingest-worker',NULL,'file:/tmp/models/ev.jsonl/0@1',1,7);
        CREATE TABLE _history_change (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, entity TEXT NOT NULL, object INTEGER NOT NULL, identity, change INTEGER NOT NULL, properties TEXT, tombstone TEXT);
        INSERT INTO _history_change VALUES(1,1,'Note',1,'n1',0,NULL,NULL);
        INSERT INTO _history_change VALUES(2,1,'Folder',1,'f1',0,NULL,NULL);
        INSERT INTO _history_change VALUES(3,1,'Note',2,'n2',0,NULL,NULL);
        INSERT INTO _history_change VALUES(4,1,'Task',3,'t1',0,NULL,NULL);
        INSERT INTO _history_change VALUES(5,1,'Visit',5,'v1',0,NULL,NULL);
        INSERT INTO _history_change VALUES(6,1,'Letter',6,'l1',0,NULL,NULL);
        INSERT INTO _history_change VALUES(7,1,'Folder',2,'f2',0,NULL,NULL);
        CREATE TABLE _history_range (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, token INTEGER NOT NULL, entity TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, objects TEXT, change INTEGER NOT NULL, properties TEXT);
        CREATE TABLE _position (topic TEXT NOT NULL, partition INTEGER NOT NULL, nextOffset INTEGER NOT NULL, detail TEXT, PRIMARY KEY (topic, partition)) WITHOUT ROWID;
        CREATE TABLE _dead_letter (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, offset INTEGER NOT NULL, line INTEGER, stage TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, key BLOB, value BLOB, valueBytes INTEGER, headers TEXT, attempts INTEGER NOT NULL DEFAULT 1);
        CREATE TABLE _tombstone (entity TEXT NOT NULL, identity NOT NULL, version, time INTEGER, token INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (entity, identity)) WITHOUT ROWID;
        INSERT INTO _tombstone VALUES('Item','t2',NULL,1772434800000000,1,1795402830325819);
        CREATE TABLE _cursor (name TEXT PRIMARY KEY, token INTEGER NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE _conflict (id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL, entity TEXT NOT NULL, identity, property TEXT, local TEXT, stored TEXT, policy TEXT NOT NULL, decision TEXT NOT NULL, source TEXT);
        CREATE TABLE _lease (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL, expires INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS "Item" (pk INTEGER PRIMARY KEY, "id" TEXT, "name" TEXT, "amount" TEXT, "seen" INTEGER, "rank" INTEGER, "body", "folder" INTEGER REFERENCES "Folder"(pk) DEFERRABLE INITIALLY DEFERRED, "_folder_position" INTEGER, _entity TEXT NOT NULL, _placeholder INTEGER NOT NULL DEFAULT 0);
        INSERT INTO Item VALUES(1,'n1','One','007',1,1,NULL,1,0,'Note',0);
        INSERT INTO Item VALUES(2,'n2',NULL,'none',0,2,NULL,1,1,'Note',0);
        INSERT INTO Item VALUES(3,'t1',NULL,'12.5',1772435700000000,1,NULL,NULL,NULL,'Task',0);
        INSERT INTO Item VALUES(5,'v1',NULL,'100000000000000000000',NULL,NULL,X'010203',NULL,NULL,'Visit',0);
        INSERT INTO Item VALUES(6,'l1',NULL,'12.50',1,NULL,'AQID',2,0,'Letter',0);
        CREATE TABLE IF NOT EXISTS "Folder" (pk INTEGER PRIMARY KEY, "id" TEXT, "total" INTEGER, _placeholder INTEGER NOT NULL DEFAULT 0);
        INSERT INTO Folder VALUES(1,'f1',2,0);
        INSERT INTO Folder VALUES(2,'f2',1,1);
        CREATE INDEX _history_transaction_time ON _history_transaction (time);
        CREATE INDEX _history_change_deletion ON _history_change (object) WHERE change = 2;
        CREATE UNIQUE INDEX "Item.id" ON "Item" ("id");
        CREATE UNIQUE INDEX "Note.rank" ON "Item" ("rank") WHERE _entity IN ('Note', 'Letter');
        CREATE INDEX "Note.folder.position" ON "Item" ("folder", "_folder_position");
        CREATE INDEX "Note.amount" ON "Item" ("amount");
        CREATE INDEX "Task.amount.seen" ON "Item" ("amount", "seen");
        CREATE INDEX "Item._placeholder" ON "Item" (pk) WHERE _placeholder;
        CREATE INDEX "Item._entity" ON "Item" (_entity);
        CREATE UNIQUE INDEX "Folder.id" ON "Folder" ("id");
        CREATE INDEX "Folder._placeholder" ON "Folder" (pk) WHERE _placeholder;
        CREATE VIEW "Note" AS SELECT * FROM "Item" WHERE _entity IN ('Note', 'Letter');
        CREATE VIEW "Task" AS SELECT * FROM "Item" WHERE _entity IN ('Task', 'Visit');
        CREATE VIEW "Visit" AS SELECT * FROM "Item" WHERE _entity IN ('Visit');
        CREATE VIEW "Letter" AS SELECT * FROM "Item" WHERE _entity IN ('Letter');
        """#
}

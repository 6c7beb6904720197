"""The chats of a quarry: members, messages, and what goes wrong on the way."""

import random
from datetime import timedelta

from .stream import Stream, at, text

MEMBERS = {
    "u-anna": ("Anna Kowalczyk", "anna.kowalczyk@harrow-quarry.example"),
    "u-bashir": ("Bashir Rahimi", "bashir.rahimi@harrow-quarry.example"),
    "u-carla": ("Carla Mendes", "carla.mendes@harrow-quarry.example"),
    "u-dmitri": ("Dmitri Volkov", "dmitri.volkov@harrow-quarry.example"),
    "u-efe": ("Efe Adeyemi", "efe.adeyemi@harrow-quarry.example"),
    "u-fiona": ("Fiona Macrae", "fiona.macrae@harrow-quarry.example"),
    "u-gustav": ("Gustav Lindqvist", "gustav.lindqvist@harrow-quarry.example"),
    "u-hana": ("Hana Suzuki", "hana.suzuki@harrow-quarry.example"),
    "u-ines": ("Inés Ferrer", "ines.ferrer@harrow-quarry.example"),
    "u-jakub": ("Jakub Novák", "jakub.novak@harrow-quarry.example"),
    "u-kwame": ("Kwame Boateng", "kwame.boateng@harrow-quarry.example"),
    "u-liesl": ("Liesl Brandt", "liesl.brandt@harrow-quarry.example"),
    "u-moses": ("Moses Tau", "moses.tau@contractor.example"),
    "u-nadia": ("Nadia Haddad", "nadia.haddad@harrow-quarry.example"),
}

TALKS = {
    "chat-ex204": ("EX-204 bucket cylinder", [
        ("u-bashir", "EX-204 drops its bucket when the engine idles. Left cylinder is wet at the gland."),
        ("u-anna", "How much does it lose?"),
        ("u-bashir", "About 20 cm in ten minutes with a full bucket."),
        ("u-gustav", "Seal kit is on the shelf, one left. I'll put it aside for you."),
        ("u-anna", "Then we do it tomorrow on day shift. Bashir and Kwame, please park it on the pad by the workshop."),
        ("u-kwame", "Pad is free from six."),
        ("u-bashir", "Rod is scored over a hand's width, see the picture on the work order. A new seal will not last."),
        ("u-anna", "Order a rod. Until then seal it and we check it each shift."),
        ("u-gustav", "Rod ordered, eight working days."),
        ("u-kwame", "Sealed, tested, no drop in fifteen minutes. Back in the pit at 14:40."),
    ]),
    "chat-crusher": ("Primary crusher: liner change", [
        ("u-carla", "Liners are down to 31 mm at the discharge. We stop on the 12th, two shifts."),
        ("u-dmitri", "Crane is booked from 06:00 to 18:00."),
        ("u-hana", "I need the isolation list two days before, please."),
        ("u-carla", "You get it on Monday. Same list as in October, plus the new belt magnet."),
        ("u-efe", "Do we keep the stockpile running from the reserve?"),
        ("u-carla", "Yes, the loader feeds the secondary. Plan for 900 t a shift."),
        ("u-dmitri", "Bolt 14 is seized again. Bringing the induction heater."),
        ("u-hana", "Locks are on, 11 of 11 tagged. You may start."),
        ("u-dmitri", "Old set is out. Seat has a crack of about 60 mm on the north side, will be ground and checked."),
        ("u-carla", "Crack is clear after grinding, 4 mm deep. Weld it and go on."),
        ("u-dmitri", "New set is in and torqued, second pass tomorrow after the first 200 t."),
        ("u-hana", "Locks off at 17:22. Thanks, everybody."),
    ]),
    "chat-tyres": ("Tyres and rims", [
        ("u-efe", "HT-117 position 4 has a cut in the sidewall, 12 cm, cords not visible."),
        ("u-liesl", "Pressure?"),
        ("u-efe", "6.8 bar cold."),
        ("u-liesl", "Run it empty only and bring it in at the end of the shift."),
        ("u-efe", "The spare in the yard has 40 mm tread. Will it do beside the new one?"),
        ("u-liesl", "Not on the same axle. Take the pair off HT-109, it stands for its gearbox anyway."),
        ("u-efe", "Done, wheel nuts torqued, reminder set for 50 hours."),
    ]),
    "chat-stores": ("Stores and spare parts", [
        ("u-gustav", "Stocktake is on the 20th. Please hand in what lies in the vans."),
        ("u-kwame", "I have four hose assemblies and a box of O-rings."),
        ("u-gustav", "Hoses to shelf C3. O-rings stay with you."),
        ("u-jakub", "We are out of 10W-40 after this week."),
        ("u-gustav", "Two drums come on Thursday."),
        ("u-nadia", "The supplier raised filters by 8 %. I have asked two others for an offer."),
        ("u-gustav", "Filter offer came in: same make, 5 % below the old price."),
        ("u-nadia", "Then we change. Please order from them from April on."),
    ]),
    "chat-safety": ("Safety", [
        ("u-hana", "Reminder: walk-round before each start, with the lights on."),
        ("u-fiona", "Berm on the south ramp is too low between 3 and 4. I've put cones out."),
        ("u-hana", "Dozer goes there at noon. Ramp is one-way until then."),
        ("u-jakub", "Near miss at the wash bay: a pickup reversed without a spotter. Nobody hurt."),
        ("u-hana", "Thank you for telling us. I talk to the driver today, and the mirror there gets replaced."),
        ("u-fiona", "Berm is up again, ramp open both ways."),
        ("u-hana", "First aid course on the 26th, eight places. Write here if you want one."),
        ("u-jakub", "Me, please."),
        ("u-liesl", "And me."),
    ]),
    "chat-training": ("Apprentices", [
        ("u-fiona", "Two apprentices start on Monday. Who takes one on hydraulics?"),
        ("u-bashir", "I do. One of them, please, not two."),
        ("u-dmitri", "The other may come to the crusher on the 12th and 13th."),
        ("u-fiona", "Great. Helmets and locks are in my office."),
        ("u-bashir", "Good first day: he found the missing split pin before I did."),
    ]),
    "chat-lunch": ("Friday lunch", [
        ("u-ines", "Paella on Friday? I need ten people to make the big pan worth it."),
        ("u-jakub", "In."),
        ("u-liesl", "In, no mussels for me."),
        ("u-kwame", "In, and I bring bread."),
        ("u-efe", "Late shift, please keep me a plate!"),
        ("u-ines", "Ten it is. 12:15 behind the workshop."),
        ("u-jakub", "Best one so far. Who washes the pan?"),
        ("u-ines", "Whoever asks."),
    ]),
    "chat-weighbridge": ("Weighbridge software", [
        ("u-nadia", "The weighbridge prints yesterday's date on tickets made after midnight."),
        ("u-moses", "Which version does the screen show at the bottom?"),
        ("u-nadia", "4.2.1."),
        ("u-moses", "Known fault, mended in 4.2.3. I can install it on Sunday at 05:00, ten minutes without tickets."),
        ("u-nadia", "Sunday is fine. Please keep the old one at hand."),
        ("u-moses", "4.2.3 is on. Printed three tickets with the right date."),
    ]),
}

MACHINES = ["EX-204", "EX-207", "EX-211", "HT-109", "HT-117", "HT-121", "WL-031", "WL-034", "DZ-008", "GR-002"]
DAY_NOTES = [
    "{m} back from its 500 h service", "{m} waits for a hose", "{m} greased, all points took grease",
    "{m} shows a coolant warning, level is fine, sensor ordered", "{m} has a new cutting edge",
    "{m} runs hot on the ramp, radiator to be washed tonight", "{m} lost a mirror at the tip",
    "{m} has a slow puncture, watch position 2", "{m} brake test passed", "{m} battery replaced",
]
NIGHT_NOTES = [
    "Rain from two to four, ramp slow but open.", "Crusher stopped 25 minutes for a boulder.", "Quiet night.",
    "Fog until six, spotter at the tip.", "Belt 3 tracked off once, set again, runs true.",
    "Light tower 2 does not start, moved tower 4 there.", "Pump at the sump is on, level 40 cm lower than last night.",
    "Radio channel 2 is noisy, we used 5.", "Water cart did six rounds, dust is down.",
]
REPLIES = ["Thanks, seen.", "Seen, on the board.", "Good work.", "Thanks. I look at it first thing.", "Noted, work order follows."]


def chats():
    rng = random.Random(204)
    out = Stream("/harrow-quarry/chat", "ev")
    number = 0
    counts = {}

    def message(chat, sender, body, moment, **more):
        nonlocal number
        number += 1
        counts[chat] = counts.get(chat, 0) + 1
        data = {"id": f"m-{number:04}", "chat": chat, "sender": sender, "body": body, "sentAt": text(moment),
                "seq": counts[chat], **more}
        out.add("message.created", moment, data)
        return data["id"]

    def member(key, moment, **more):
        name, email = MEMBERS[key]
        out.add("member.created", moment, {"id": key, "name": name, "email": email, **more})

    def talk(chat, day, clock, first=0, last=None):
        moment = at(day, clock)
        for sender, body in TALKS[chat][1][first:last]:
            message(chat, sender, body, moment)
            moment += timedelta(minutes=rng.choice([1, 2, 3, 5, 8, 13]), seconds=rng.randrange(60))
        return moment

    def chat_created(chat, day, clock, members):
        out.add("chat.created", at(day, clock), {"id": chat, "title": TALKS[chat][0], "members": members})

    # One event for a chat with its members and first messages, all nested.
    out.add("chat.created", at(2, "05:30"), {
        "id": "chat-shift", "title": "Shift handover",
        "members": [{"id": key, "name": MEMBERS[key][0], "email": MEMBERS[key][1]} for key in ("u-anna", "u-fiona")]
        + ["u-carla", "u-kwame"],
        "messages": [
            {"id": "m-welcome-1", "body": "This chat is for handovers only: what stands, what waits, how many loads.",
             "sentAt": "2026-03-02T05:30:00Z", "sender": "u-anna", "seq": 1},
            {"id": "m-welcome-2", "body": "Day leads write at six in the evening, night leads at six in the morning.",
             "sentAt": "2026-03-02T05:31:00Z", "sender": "u-fiona", "seq": 2},
        ],
    })
    counts["chat-shift"] = 2
    # u-carla and u-kwame are known by their identities only; their own events come now. u-bashir and u-gustav come
    # after their messages.
    for key in ("u-carla", "u-dmitri", "u-kwame", "u-hana"):
        member(key, at(2, "05:40"))

    # Messages before their chat, and before some of their senders.
    talk("chat-ex204", 2, "07:12", 0, 5)
    chat_created("chat-ex204", 2, "07:10", ["u-anna", "u-bashir", "u-gustav", "u-kwame"])
    member("u-bashir", at(2, "07:00"))
    member("u-gustav", at(2, "07:01"))
    talk("chat-ex204", 3, "06:05", 5)
    out.repeat(2)

    chat_created("chat-crusher", 3, "08:00", ["u-carla", "u-dmitri", "u-hana"])
    talk("chat-crusher", 3, "08:05", 0, 4)
    out.add("chat.updated", at(3, "08:40"), {"id": "chat-crusher", "members": {"add": ["u-efe"], "remove": []}})
    talk("chat-crusher", 3, "08:45", 4, 6)
    member("u-efe", at(3, "09:00"))

    chat_created("chat-tyres", 4, "10:00", ["u-efe", "u-liesl"])
    talk("chat-tyres", 4, "10:02")
    member("u-liesl", at(4, "09:59"))

    chat_created("chat-safety", 4, "12:00", ["u-hana", "u-fiona", "u-jakub"])
    talk("chat-safety", 4, "12:01", 0, 5)
    member("u-jakub", at(4, "12:20"))

    # A message with its sender nested: one event makes both.
    message("chat-safety", {"id": "u-ines", "name": MEMBERS["u-ines"][0], "email": MEMBERS["u-ines"][1]},
            "The canteen has the new emergency numbers on the door, too.", at(4, "13:10"))
    # The line was cut off by the producer: the first of two dead letters.
    out.raw('{"specversion": "1.0", "id": "ev-cut", "source": "/harrow-quarry/chat", "type": "message.created", '
            '"time": "2026-03-04T13:11:40Z", "data": {"id": "m-cut", "chat": "chat-safety", "sender": "u-hana", "body": "Tha')

    shift(rng, message, range(2, 12))

    chat_created("chat-lunch", 11, "09:00", ["u-ines", "u-jakub", "u-liesl", "u-kwame", "u-efe"])
    talk("chat-lunch", 11, "09:03", 0, 6)
    talk("chat-lunch", 13, "13:20", 6)

    chat_created("chat-stores", 11, "14:00", ["u-gustav", "u-kwame", "u-jakub", "u-nadia"])
    talk("chat-stores", 11, "14:05", 0, 5)
    talk("chat-crusher", 12, "06:10", 6)
    # A seq that is no number: the second dead letter.
    out.add("message.created", at(12, "17:40"), {
        "id": "m-typed", "chat": "chat-crusher", "sender": "u-dmitri", "body": "Pictures are in the folder.",
        "sentAt": "2026-03-12T17:40:00Z", "seq": "thirteen"})

    # Edits: a wording, then an older copy of the message, which changes nothing (stale).
    out.add("message.updated", at(12, "18:00"), {
        "id": "m-0003", "body": "About 20 cm in ten minutes with a full bucket, 35 cm when warm."})
    out.add("message.updated", at(2, "07:20"), {
        "id": "m-0003", "body": "About 20 cm in ten minutes."})
    out.add("chat.updated", at(12, "18:05"), {"id": "chat-crusher", "title": "Primary crusher"})
    out.add("chat.updated", at(9, "09:00"), {
        "id": "chat-crusher", "title": "Primary crusher: liner change in March", "updatedAt": "2026-03-09T09:00:00Z"})

    # Null clears: a withdrawn message, a chat without a title, a member without an address.
    withdrawn = message("chat-stores", "u-jakub", "Does anybody need my old phone?", at(12, "19:00"))
    out.add("message.updated", at(12, "19:02"), {"id": withdrawn, "body": None})
    out.add("chat.created", at(12, "19:10"), {"id": "chat-untitled", "title": "test", "members": ["u-moses", "u-nadia"]})
    out.add("chat.updated", at(12, "19:11"), {"id": "chat-untitled", "title": None})
    member("u-nadia", at(12, "19:12"))
    member("u-moses", at(12, "19:13"))
    out.add("member.updated", at(13, "08:00"), {"id": "u-moses", "email": None})

    chat_created("chat-weighbridge", 13, "09:00", ["u-nadia", "u-moses"])
    talk("chat-weighbridge", 13, "09:05", 0, 5)
    talk("chat-weighbridge", 15, "05:15", 5)
    talk("chat-stores", 16, "09:00", 5)
    talk("chat-safety", 16, "11:00", 5)
    chat_created("chat-training", 16, "12:00", ["u-fiona", "u-bashir", "u-dmitri"])
    talk("chat-training", 16, "12:05")

    shift(rng, message, range(12, 27))
    out.repeat(3)

    # People come and go.
    out.add("chat.updated", at(27, "08:00"), {"id": "chat-safety", "members": {"add": ["u-liesl", "u-ines"], "remove": ["u-fiona"]}})
    out.add("chat.updated", at(27, "08:01"), {"id": "chat-shift", "members": {"add": ["u-dmitri", "u-hana", "u-efe"], "remove": []}})
    # A whole new set: u-efe goes, u-jakub comes.
    out.add("chat.updated", at(27, "08:05"), {"id": "chat-crusher", "members": ["u-carla", "u-dmitri", "u-hana", "u-jakub"]})

    # Deletions: a message; a chat, with its messages; a member, whose messages stay without a sender;
    # and a message that nobody ever heard of.
    out.add("message.deleted", at(27, "09:00"), {"id": withdrawn})
    out.add("chat.deleted", at(27, "09:10"), {"id": "chat-lunch"})
    out.add("member.removed", at(27, "09:20"), {"id": "u-moses"})
    out.add("message.deleted", at(27, "09:30"), {"id": "m-from-the-old-server"})

    # Late events about what is gone, all from before the deletions: stale, but for the last, which loses its sender.
    out.add("message.updated", at(27, "08:50"), {"id": withdrawn, "body": "Sold!"})
    message("chat-lunch", "u-liesl", "Same again in April?", at(27, "09:05"))
    out.add("message.created", at(5, "12:00"), {
        "id": "m-from-the-old-server", "chat": "chat-stores", "sender": "u-gustav", "body": "Shelf C3 is full."})
    message("chat-weighbridge", "u-moses", "Before I go: the old version is on the stick in the drawer.", at(26, "17:00"))

    # Two that stay placeholders: nobody sends the chat or the member that this message names.
    message("chat-night-watch", "u-oskar", "Gate 2 was open at three, closed it.", at(28, "03:10"))
    message("chat-shift", "u-anna", "Gate 2: please lock it after the last truck.", at(28, "06:30"))
    out.write("chat-events.jsonl")


def shift(rng, message, days):
    """Handovers: a word at noon, an evening message, a reply, a morning message."""
    for day in days:
        first, second = rng.sample(MACHINES, 2)
        notes = rng.sample(DAY_NOTES, 2)
        loads = rng.randrange(148, 203)
        lead, night = rng.choice(["u-anna", "u-carla"]), rng.choice(["u-fiona", "u-kwame"])
        body = f"Day shift, {day} March: {notes[0].format(m=first)}; {notes[1].format(m=second)}. {loads} loads."
        noon = f"Noon: {loads // 2 + rng.randrange(-6, 7)} loads so far, {rng.choice(MACHINES)} at the wash bay."
        message("chat-shift", lead, noon, at(day, f"12:0{rng.randrange(10)}:{rng.randrange(10, 60)}"))
        message("chat-shift", lead, body, at(day, f"18:0{rng.randrange(10)}:{rng.randrange(10, 60)}"))
        message("chat-shift", night, rng.choice(REPLIES), at(day, f"18:{rng.randrange(12, 40)}:{rng.randrange(10, 60)}"))
        body = f"Night shift: {rng.randrange(96, 141)} loads. {rng.choice(NIGHT_NOTES)}"
        message("chat-shift", night, body, at(day + 1, f"06:0{rng.randrange(10)}:{rng.randrange(10, 60)}"))

"""The work orders of a quarry's workshop, as events and as a table."""

import csv
import random
from datetime import timedelta

from .stream import FOLDER, Stream, at, text

ASSETS = {
    "EX-204": ("Excavator 204", "North pit"), "EX-207": ("Excavator 207", "North pit"),
    "EX-211": ("Excavator 211", "South pit"), "HT-109": ("Haul truck 109", "South pit"),
    "HT-117": ("Haul truck 117", "North pit"), "HT-121": ("Haul truck 121", "South pit"),
    "WL-031": ("Wheel loader 31", "Stockpile"), "WL-034": ("Wheel loader 34", "Stockpile"),
    "DZ-008": ("Dozer 8", "North pit"), "GR-002": ("Grader 2", "Roads"),
    "CR-001": ("Primary crusher", "Plant"), "BE-003": ("Belt conveyor 3", "Plant"),
}

TECHNICIANS = {
    "t-bashir": "Bashir Rahimi", "t-dmitri": "Dmitri Volkov", "t-efe": "Efe Adeyemi", "t-jakub": "Jakub Novák",
    "t-kwame": "Kwame Boateng", "t-liesl": "Liesl Brandt", "t-sigrid": "Sigrid Aune",
}

# Title, kind, priority, machines it fits, steps with minutes.
JOBS = [
    ("Replace hydraulic hose at boom", "repair", 2, ("EX-204", "EX-207", "EX-211"),
     [("Lower boom, release pressure", 15), ("Change hose and O-rings", 60), ("Fill up, test for leaks", 25)]),
    ("Reseal bucket cylinder", "repair", 2, ("EX-204", "EX-211", "WL-031"),
     [("Remove cylinder", 90), ("Fit seal kit", 75), ("Install, bleed, test", 80)]),
    ("500 hour service", "service", 3, ("EX-204", "EX-207", "EX-211", "HT-109", "HT-117", "HT-121", "DZ-008"),
     [("Engine oil and filters", 70), ("Air filters", 20), ("Sample hydraulic oil", 10), ("Grease all points", 40)]),
    ("Replace cutting edge", "repair", 3, ("WL-031", "WL-034", "GR-002", "DZ-008"),
     [("Cut off old bolts", 45), ("Fit new edge", 60)]),
    ("Change tyre, position 4", "repair", 2, ("HT-109", "HT-117", "HT-121"),
     [("Jack up and block", 20), ("Change wheel", 70), ("Torque nuts, set reminder for 50 h", 15)]),
    ("Brake test", "inspection", 2, ("HT-109", "HT-117", "HT-121"), [("Service brake on the ramp", 20), ("Park brake", 10)]),
    ("Wash radiator", "service", 4, ("EX-207", "HT-117", "HT-121", "WL-034"), [("Blow and wash", 50)]),
    ("Replace coolant sensor", "repair", 4, ("HT-109", "EX-211"), [("Change sensor", 30), ("Clear fault, road test", 20)]),
    ("Track belt and replace scraper", "repair", 3, ("BE-003",), [("Lock out", 10), ("Fit scraper", 55), ("Track belt", 40)]),
    ("Check liner thickness", "inspection", 3, ("CR-001",), [("Lock out", 20), ("Measure at 12 points", 45)]),
]

NOTES = [
    "Part was on the shelf.", "Bolt 3 sheared, drilled out.", "Took longer: the machine was not at the agreed place.",
    "No leak after 30 minutes at full pressure.", "Old part kept for the supplier, claim is under way.",
    "Access is tight, a second person helps.", "Operator says it did that since Tuesday.", "Torque wrench 2 is due for calibration.",
]


class Office:
    """Keeps the numbers of what it sends."""

    def __init__(self):
        self.out = Stream("/harrow-quarry/workshop", "wo")
        self.rng = random.Random(117)
        self.orders = self.items = self.notes = self.files = 0

    def order(self, moment, job=None, **more):
        title, kind, priority, machines, steps = job or self.rng.choice(JOBS)
        self.orders += 1
        order = {"id": f"WO-2026-{self.orders:03}", "title": title, "kind": kind, "status": "open", "priority": priority,
                 "startDate": text(moment + timedelta(days=self.rng.randrange(1, 6))), "asset": self.rng.choice(machines)}
        order.update(more)
        if "checklist" not in order:
            order["checklist"] = [self.item(step, minutes) for step, minutes in steps]
        self.out.add("work-order.created", moment, order)
        return order

    def item(self, step, minutes):
        self.items += 1
        return {"id": f"CL-{self.items:04}", "text": step, "minutes": minutes}

    def update(self, moment, order, **changes):
        self.out.add("work-order.updated", moment, {"id": order["id"], **changes})

    def note(self, moment, order, author, words=None, **more):
        self.notes += 1
        note = {"id": f"N-{self.notes:03}", "workOrder": order["id"], "author": author,
                "text": words or self.rng.choice(NOTES), "writtenAt": text(moment), **more}
        self.out.add("note.created", moment, note)
        return note

    def file(self, moment, order, name, media, size, **more):
        self.files += 1
        self.out.add("attachment.created", moment, {
            "id": f"F-{self.files:03}", "fileName": name, "mediaType": media, "byteCount": size,
            "location": f"https://files.harrow-quarry.example/{order['id']}/{name}", "workOrder": order["id"], **more})

    def asset(self, key, moment):
        self.out.add("asset.created", moment, {"id": key, "name": ASSETS[key][0], "site": ASSETS[key][1]})

    def technician(self, key, moment):
        name = TECHNICIANS[key]
        self.out.add("technician.created", moment, {
            "id": key, "name": name, "email": f"{key[2:]}@harrow-quarry.example"})


def work_orders():
    office = Office()
    out, rng = office.out, office.rng
    for key in ("EX-204", "EX-207", "EX-211", "HT-109", "HT-117", "HT-121"):
        office.asset(key, at(2, "06:00"))
    for key in ("t-bashir", "t-dmitri", "t-efe", "t-kwame"):
        office.technician(key, at(2, "06:05"))

    # A note and a checklist item arrive before their work order, and the order before its technician.
    first = {"id": "WO-2026-001"}
    office.note(at(2, "07:20"), first, "t-bashir", "Rod is scored over a hand's width, see the picture.")
    office.file(at(2, "07:22"), first, "rod-left.jpg", "image/jpeg", 2481533, note="N-001")
    out.add("checklist-item.created", at(2, "07:30"), {
        "id": "CL-EXTRA-1", "text": "Measure the score and take a picture", "minutes": 10, "isDone": True, "workOrder": first["id"]})
    # Its checklist adds to what has come already: a plain list would replace that.
    steps = {"add": [office.item(step, minutes) for step, minutes in JOBS[1][4]], "remove": []}
    first = office.order(at(2, "07:15"), JOBS[1], asset="EX-204", technicians=["t-bashir", "t-sigrid"], checklist=steps)
    office.update(at(3, "14:40"), first, status="done", cost="412.80", taxRate=0.2)

    # An order whose technician and machine are nested: one event makes all of them.
    office.order(at(3, "08:00"), JOBS[9], asset={"id": "CR-001", "name": "Primary crusher", "site": "Plant"},
                 technicians=[{"id": "t-liesl", "name": TECHNICIANS["t-liesl"], "email": "liesl@harrow-quarry.example"}])

    # The crowd: opened, scheduled, done; machines and people of some orders are announced only afterwards.
    month(office, range(3, 15))
    for key in ("WL-031", "WL-034", "DZ-008", "GR-002", "BE-003"):
        office.asset(key, at(14, "17:00"))
    office.technician("t-jakub", at(14, "17:05"))
    office.technician("t-sigrid", at(14, "17:06"))
    out.repeat(4)
    # The line was cut off by the producer: the first of three dead letters.
    out.raw('{"specversion": "1.0", "id": "wo-cut", "source": "/harrow-quarry/workshop", "type": "note.created", '
            '"time": "2026-03-14T17:10:00Z", "data": {"id": "N-CUT", "workOrder": "WO-2026-002", "text": "Pump was')
    month(office, range(15, 27))

    # A priority that is no number: the second dead letter.
    out.add("work-order.updated", at(27, "07:00"), {"id": "WO-2026-002", "priority": "urgent"})

    # An older copy changes nothing: stale. A newer one clears what it names with null.
    out.add("work-order.updated", at(2, "09:00"), {"id": "WO-2026-001", "status": "in-progress"})
    office.update(at(27, "07:10"), {"id": "WO-2026-002"}, startDate=None, status="scheduled")

    # Sets are edited, or replaced as a whole; a nested object may join.
    office.update(at(27, "07:20"), {"id": "WO-2026-002"}, technicians={"add": ["t-efe"], "remove": ["t-liesl"]})
    office.update(at(27, "07:25"), {"id": "WO-2026-003"}, technicians=["t-kwame", "t-efe"])
    office.update(at(27, "07:30"), {"id": "WO-2026-004"}, checklist={"add": [office.item("Tell the shift lead", 5)], "remove": []})

    # EX-204 has work orders, and the rule of Asset.workOrders is deny: the third dead letter.
    out.add("asset.deleted", at(27, "08:00"), {"id": "EX-204"})
    # A machine that never had one may go.
    out.add("asset.created", at(27, "08:05"), {"id": "LT-002", "name": "Light tower 2", "site": "Roads"})
    out.add("asset.deleted", at(27, "08:10"), {"id": "LT-002"})

    # A deleted order takes its checklist, notes and attachments along; a technician leaves orders and notes behind.
    doomed = office.order(at(27, "08:20"), JOBS[0], asset="EX-211", technicians=["t-sigrid", "t-kwame"])
    office.note(at(27, "08:25"), doomed, "t-sigrid", "Ordered twice, see the other one.")
    office.file(at(27, "08:26"), doomed, "hose.pdf", "application/pdf", 88213)
    out.add("work-order.deleted", at(27, "08:40"), {"id": doomed["id"]})
    out.add("technician.removed", at(27, "09:00"), {"id": "t-sigrid"})
    out.add("attachment.deleted", at(27, "09:05"), {"id": "F-FROM-THE-OLD-SYSTEM"})

    # Late events about what is gone, all from before the deletion: stale.
    office.update(at(27, "08:30"), doomed, status="in-progress")
    out.add("checklist-item.updated", at(27, "08:31"), {"id": doomed["checklist"][0]["id"], "isDone": True})
    office.note(at(27, "08:32"), doomed, "t-kwame", "Who takes this one?")

    # Two that stay placeholders: nobody sends the machine or the technician.
    office.order(at(28, "06:10"), JOBS[3], asset="WL-040", technicians=["t-contractor-7"])
    out.write("work-orders.jsonl")


def month(office, days):
    rng = office.rng
    people = [key for key in TECHNICIANS if key != "t-sigrid"]
    for day in days:
        for hour in sorted(rng.sample(range(6, 16), 2)):
            opened = at(day, f"{hour:02}:{rng.randrange(60):02}")
            order = office.order(opened)
            who = rng.sample(people, rng.choice([1, 1, 2]))
            planned = opened + timedelta(minutes=rng.randrange(20, 90))
            office.update(planned, order, status="scheduled", technicians=who)
            if rng.random() < 0.45:
                office.note(planned + timedelta(minutes=30), order, who[0])
            if rng.random() < 0.25:
                office.file(planned + timedelta(minutes=35), order, "before.jpg", "image/jpeg", rng.randrange(800_000, 4_000_000))
            if rng.random() < 0.7:
                for item in order["checklist"][:rng.randrange(1, 3)]:
                    office.out.add("checklist-item.updated", planned + timedelta(hours=2), {"id": item["id"], "isDone": True})
                cost = f"{rng.randrange(40, 2600)}.{rng.randrange(0, 100, 5):02}"
                office.update(planned + timedelta(hours=3), order, status="done", cost=cost, taxRate=0.2)


WORDS = [
    "Bucket will not open", "L/H bucket cylinder leaking", "Swap bucket", "Fit bucket tooth", "Replace \"Y\" hose, boom",
    "Grease line blocked, left side", "Engine will not start, cold", "Horn does not work", "Repair step, bent",
    "Replace wiper, front", "Air conditioner blows warm", "Slew motor noisy", "Track tension, both sides",
    "Fuel cap missing", "Mirror broken, R/H", "Seat belt worn", "Coolant leak at \"top\" hose", "500 h service",
    "1000 h service", "Oil sample, hydraulics", "Fire system: yearly test", "Camera dirty, lens scratched",
]


def csv_rows():
    """A table with a bookkeeper's column names; some fields are empty, some hold commas and quotes."""
    rng = random.Random(31)
    machines = [key for key in ASSETS if key[:2] in ("EX", "HT", "WL")]
    day = at(1, "00:00") - timedelta(days=420)
    with open(FOLDER / "work-orders.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["Start", "Machine", "Short text", "Type", "Cost", "Clerk"])
        for _ in range(150):
            day += timedelta(days=rng.randrange(0, 6))
            words = rng.choice(WORDS)
            kind = "PM02" if "service" in words or "test" in words or "sample" in words else rng.choice(["PM01", "PM01", "PM01", "PM06"])
            cost = rng.choice(["", "0", f"{rng.randrange(15, 9000)}.{rng.randrange(100):02}", f"{rng.randrange(15, 900)}"])
            table.writerow([day.strftime("%Y-%m-%d") if rng.random() > 0.04 else "", rng.choice(machines) if rng.random() > 0.05 else "",
                            words, kind, cost, rng.choice(["AK", "GL", "NH"])])

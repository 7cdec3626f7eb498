"""Believable people and companies, all invented; every address ends in a domain reserved for examples."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.service.base.seeded_random import pick, rolls

FIRST = (
    "Ada", "Aisha", "Akira", "Alejandro", "Amara", "Amir", "Anika", "Anton", "Astrid", "Beatriz", "Benoît",
    "Bianca", "Bruno", "Camille", "Carlos", "Cecilia", "Chen", "Chiara", "Chloe", "Daniel", "Daria", "David",
    "Deepa", "Diego", "Dmitri", "Elena", "Elif", "Emeka", "Emil", "Emma", "Esther", "Fatima", "Felix",
    "Fiona", "Francesca", "Gabriel", "Giulia", "Grace", "Hana", "Hannah", "Hassan", "Helen", "Hugo",
    "Ibrahim", "Ingrid", "Irina", "Isabel", "Ivan", "Jack", "James", "Jana", "Jin", "Joana", "Jonas", "Jorge",
    "Julia", "Kamal", "Karin", "Kenji", "Kofi", "Lars", "Laura", "Lea", "Leila", "Liam", "Lin", "Linnea",
    "Lucía", "Luka", "Maja", "Malik", "Marco", "Margot", "Maria", "Mateo", "Maya", "Mei", "Mikael", "Mina",
    "Mohammed", "Nadia", "Naomi", "Nikhil", "Nina", "Noah", "Nora", "Oksana", "Oliver", "Olivia", "Omar",
    "Oskar", "Paolo", "Petra", "Pierre", "Priya", "Rafael", "Rania", "Rebecca", "Ren", "Ricardo", "Rosa",
    "Ruth", "Samir", "Sanne", "Sara", "Sean", "Selma", "Simon", "Sofia", "Stefan", "Suki", "Sven", "Tamar",
    "Tariq", "Teresa", "Thomas", "Tomás", "Uma", "Valentina", "Victor", "Wei", "Yara", "Yasmin", "Yuki",
    "Yusuf", "Zanele", "Zoe", "Zoë",
)  # fmt: skip

LAST = (
    "Abara", "Adler", "Ahmed", "Almeida", "Andersson", "Aoki", "Bauer", "Becker", "Bellini", "Berg",
    "Bianchi", "Borges", "Brandt", "Brooks", "Byrne", "Castro", "Chandra", "Chen", "Clarke", "Conti", "Costa",
    "Cruz", "Dahl", "Delacroix", "Desai", "Dubois", "Eriksen", "Estrada", "Evans", "Farah", "Ferreira",
    "Fischer", "Fontaine", "Fournier", "Garcia", "Georgiou", "Gomez", "Grant", "Gupta", "Haas", "Haddad",
    "Hansen", "Hartmann", "Hayashi", "Holm", "Hughes", "Ibáñez", "Ito", "Iversen", "Jansen", "Jensen",
    "Jovanović", "Kaplan", "Kaur", "Keller", "Khan", "Kim", "Kowalski", "Kumar", "Larsen", "Laurent", "Lewis",
    "Lindqvist", "Lopez", "Madsen", "Marin", "Martins", "Mbeki", "Meyer", "Mishra", "Moreau", "Müller",
    "Murphy", "Nakamura", "Nair", "Nguyen", "Nielsen", "Novak", "O'Brien", "Okafor", "Olsen", "Ortega",
    "Osei", "Park", "Patel", "Pereira", "Petrov", "Popescu", "Quinn", "Rahman", "Ramos", "Reyes", "Ricci",
    "Romano", "Rossi", "Ryan", "Saito", "Santos", "Schmidt", "Schneider", "Sharma", "Silva", "Singh",
    "Sokolov", "Sørensen", "Suzuki", "Tanaka", "Torres", "Tran", "Vargas", "Virtanen", "Vogel", "Wagner",
    "Walsh", "Wang", "Weber", "Wood", "Yamada", "Yılmaz", "Zhang", "Zimmermann",
)  # fmt: skip

_HEAD = (
    "Alder", "Amber", "Anchor", "Apex", "Arbor", "Atlas", "Aurora", "Basalt", "Beacon", "Birch", "Bluebird",
    "Bramble", "Brightside", "Cedar", "Cobalt", "Compass", "Coral", "Crescent", "Delta", "Driftwood", "Ember",
    "Evergreen", "Fjord", "Foxglove", "Granite", "Harbor", "Hazel", "Helio", "Horizon", "Indigo", "Juniper",
    "Kestrel", "Lantern", "Larch", "Ledger", "Lighthouse", "Linden", "Lumen", "Maple", "Meridian", "Mosaic",
    "Nimbus", "Northwind", "Oak", "Onyx", "Orchard", "Osprey", "Pebble", "Pinnacle", "Polar", "Prairie",
    "Quarry", "Quill", "Redwood", "Ridge", "River", "Saffron", "Sequoia", "Sierra", "Silverline", "Slate",
    "Spruce", "Summit", "Tamarack", "Tern", "Thistle", "Tidal", "Timber", "Topaz", "Umber", "Vale", "Verdant",
    "Vertex", "Walnut", "Willow", "Windmill", "Yarrow", "Zephyr",
)  # fmt: skip

_TAIL = (
    "Analytics", "Bio", "Capital", "Care", "Cloud", "Commerce", "Consulting", "Data", "Dental", "Design",
    "Dynamics", "Energy", "Engineering", "Finance", "Foods", "Freight", "Group", "Health", "Holdings",
    "Homes", "Hospitality", "Insurance", "Interiors", "Labs", "Legal", "Logistics", "Manufacturing", "Media",
    "Medical", "Mobility", "Networks", "Optics", "Partners", "Payments", "Pharma", "Power", "Print", "Realty",
    "Recruiting", "Retail", "Robotics", "Security", "Software", "Solar", "Staffing", "Studio", "Supply",
    "Systems", "Telecom", "Textiles", "Travel", "Ventures", "Wealth", "Works",
)  # fmt: skip

_TLD = ("example", "test", "example.com", "example.org", "example.net")
_PLAIN = str.maketrans(
    {
        "á": "a", "ã": "a", "å": "a", "ć": "c", "ç": "c", "é": "e", "ë": "e", "í": "i", "ı": "i", "î": "i",
        "ñ": "n", "ó": "o", "ö": "o", "ø": "o", "ü": "u", "'": "",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who could become a lead."""

    first_name: str
    last_name: str
    company: str
    email: str
    title: str


_TITLES = (
    "Founder", "CEO", "COO", "CFO", "CTO", "VP Sales", "Head of Growth", "Head of Operations", "Marketing Director",
    "Revenue Lead", "Procurement Manager", "Office Manager", "Head of People", "IT Director", "Product Manager",
)  # fmt: skip


def person(*key: object) -> Person:
    """The person of a key: always the same one, and an address that no other key has."""
    chances = rolls("person", *key)
    first, last = pick(FIRST, chances[0]), pick(LAST, chances[1])
    head, tail = pick(_HEAD, chances[2]), pick(_TAIL, chances[3])
    number = int(chances[6] * 46_656)
    host = f"{head}{tail}.{pick(_TLD, chances[4])}".lower()
    local = f"{plain(first)}.{plain(last)}{number}"
    return Person(
        first_name=first,
        last_name=last,
        company=f"{head} {tail}",
        email=f"{local}@{host}",
        title=pick(_TITLES, chances[5]),
    )


def plain(name: str) -> str:
    return name.lower().translate(_PLAIN)

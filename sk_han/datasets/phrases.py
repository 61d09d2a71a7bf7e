"""The phrases of which `make_reviews` composes reviews.

A phrase is drawn by its position in its tuple: a change here changes the reviews of every seed.
"""

from __future__ import annotations

ITEMS = (
    "kettle",
    "toaster",
    "blender",
    "lamp",
    "backpack",
    "keyboard",
    "tent",
    "umbrella",
    "camera",
    "radio",
    "armchair",
    "vacuum cleaner",
    "alarm clock",
    "electric drill",
    "iron",
    "coffee grinder",
)

# Words of judgement, by sign. A negated clause has the opposite meaning, and only judgements
# contain these words.
ADJECTIVES = {
    +1: ("good", "excellent", "wonderful", "pleasant", "impressive", "satisfying"),
    -1: ("bad", "poor", "terrible", "dreadful", "disappointing", "annoying"),
}
VERBS = {
    +1: ("pleased", "impressed", "delighted"),
    -1: ("disappointed", "annoyed", "frustrated"),
}

# Phrases after "is", by (negated, strong).
PREDICATES = {
    (False, False): ("{adjective}", "rather {adjective}", "on the whole {adjective}"),
    (False, True): ("truly {adjective}", "simply {adjective}", "{adjective} in every way"),
    (True, False): ("not {adjective}", "hardly {adjective}", "not exactly {adjective}"),
    (True, True): (
        "anything but {adjective}",
        "not {adjective} at all",
        "at no time {adjective}",
    ),
}

# Clauses, by (negated, strong); one in three has a verb, so that verbs are negated equally often.
CLAUSES = {
    (False, False): (
        "I would call {subject} {adjective}",
        "{subject} could fairly be called {adjective}",
        "{subject} {pleased} me up to a point",
    ),
    (False, True): (
        "I found {subject} {adjective} from beginning to end",
        "anyone would call {subject} {adjective}",
        "{subject} thoroughly {pleased} me",
    ),
    (True, False): (
        "I would not call {subject} {adjective}",
        "{subject} could hardly be called {adjective}",
        "{subject} hardly {pleased} me",
    ),
    (True, True): (
        "I never found {subject} {adjective}",
        "nobody could call {subject} {adjective}",
        "{subject} never once {pleased} me",
    ),
}

# The same for neutral judgements.
BALANCED_PREDICATES = (
    "neither {adjective} nor {opposite}",
    "{adjective} at first and {opposite} later on",
    "{adjective} in some ways and {opposite} in others",
    "half {adjective} and half {opposite}",
)
BALANCED_CLAUSES = (
    "I would call {subject} neither {adjective} nor {opposite}",
    "{subject} {pleased} me as often as it {displeased} me",
)

# Names of the reviewed item: only judgements of these carry the label.
REVIEWED = (
    "this {item}",
    "the {item} itself",
    "my new {item}",
    "our new {item}",
    "the {item} I ordered here",
    "the {item} reviewed here",
)

# Other items of the same kind.
OTHER_ITEMS = (
    "my old {item}",
    "my neighbour's {item}",
    "my sister's {item}",
    "the {item} at work",
    "the {item} I had before",
    "the {item} in our hotel room",
    "the {item} of another brand",
    "Mr. Hall's {item}",
)

# Things of other kinds, all in the past.
OTHER_THINGS = (
    "the film we watched meanwhile",
    "the book I was reading that week",
    "the café opposite the parcel office",
    "the weather on that day",
    "the concert the evening before",
    "the music in the shop",
    "the soup at the station",
    "our last holiday",
    "my daughter's school play",
    "the hotel we stayed at in {city}",
)

# Judgements of other people about the reviewed item.
HEARSAY = (
    "some people say that {clause}",
    "a magazine wrote that {clause}",
    "before I ordered, I had read that {clause}",
    "my brother-in-law insists that {clause}",
    "a man in the shop told me that {clause}",
    "other reviews on this page, e.g. the one from {month}, say that {clause}",
    "{clause}, or so my dentist claims",
    "{clause}, if you believe my colleagues",
)

# Beginnings of the writer's own judgements.
LEADS = ("honestly, ", "all in all, ", "in short, ", "to be fair, ")

# Two judgements in one sentence: (before the first, between the two).
CONTRASTS = (("", ", but "), ("", ", whereas "), ("while ", ", "))

OPENINGS = (
    "I bought {an_item} in {month}, from {shop} in {city}, and this is my report.",
    "At the end of {month} I needed {an_item}, so I ordered one from {shop} in {city}.",
    "This is a review of {an_item} that I have owned for {number} weeks now.",
    "We've had our {item} since {month}, and people keep asking us about it.",
    "My {relative} gave me {an_item} in {month}, and I have used it on most days since.",
    "I was looking for {an_item}, and {shop} had one for {price} euros.",
)

FILLERS = (
    "It arrived on a {day}, {number} days after I had placed the order.",
    "The parcel was left with Mrs. {surname} on the {floor} floor.",
    "The box is {colour} and weighs about {kilos} kg.",
    "I chose the {colour} one; there was also one in {colour}.",
    "The manual has {number} pages and covers several languages, e.g. {language} and {language}.",
    "Delivery cost another {number} euros, and I paid by card.",
    "There are {number} of us in the household, and we share most things.",
    "My {relative} lives in {city} and visits us in {month}.",
    "We moved here from {city} in {month}.",
    "I keep it in {room}, next to the {other_item}.",
    "The serial number is on the back (mine ends in {number}).",
    "The courier rang at {time} a.m. on {day}.",
    'It says "made in {city}" on the label.',
    "You can register it at www.example.com; I did so on {day}.",
    "The guarantee runs until {month} of next year.",
    "Did I mention that I live on the {floor} floor?",
    "My {relative} unpacked it while I was on the phone with my {relative}.",
    "A shop in {city} has {an_other_item} for {price} euros.",
    "I use it about {number} times a week, usually in {room}.",
    "In the box were the {item}, a manual and a {colour} card...",
)

CLOSINGS = (
    "That's all from me for now.",
    "I'll add photographs in {month}.",
    "Questions? Write to me and I'll reply by {day}.",
    "I hope this helps someone in {city}.",
)

SLOTS = {
    "city": ("Leeds", "Porto", "Utrecht", "Graz", "Lyon", "Bergen", "Turin", "Cork"),
    "colour": ("black", "white", "red", "green", "grey", "blue"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "floor": ("first", "second", "third", "fourth"),
    "kilos": ("0.8", "1.5", "2.2", "3.4"),
    "language": ("French", "Polish", "Greek", "Korean", "Welsh", "Finnish"),
    "month": ("January", "March", "April", "June", "August", "October", "November"),
    "number": ("two", "three", "four", "five", "six", "seven", "eight", "nine"),
    "other_item": ITEMS,
    "price": ("19", "24.90", "35", "49.50", "60", "79"),
    "relative": ("aunt", "cousin", "uncle", "grandson", "niece"),
    "room": ("the kitchen", "the hall", "my study", "the spare room", "the garage"),
    "shop": ("a department store", "an online shop", "a dealer", "the corner shop"),
    "surname": ("Ito", "Novak", "Okafor", "Lindqvist", "Moreau"),
    "time": ("8.30", "9.15", "10.20", "11.45"),
}

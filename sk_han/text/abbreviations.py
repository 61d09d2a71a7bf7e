"""Abbreviations whose full stop does not end a sentence, in lower case and without the stop.

A word is not listed if it is also an ordinary word that ends sentences in some language: "est."
(estimated) is missing, since French sentences end in "est".
"""

from __future__ import annotations

__all__ = ["BEFORE_NAME", "BEFORE_NUMBER", "CONTINUERS", "MAY_END", "MONTHS", "STARTERS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Titles and connectives: something always follows them, whatever its first letter. Those with a
# capital count only as written, since "sen" and "hon" are words that end sentences in Swedish.
BEFORE_NAME = _words("""
    mr mrs ms messrs mme mlle mmes dr dra drs prof st ste mt capt cpt cmdr lt sgt cpl supt insp
    Gen Col Maj Adm Rev Hon Pres Gov Sen Rep Fr Ft Sig Ing Dipl Hr Hrn Frl Ste Mgr
    sr sra srta dña ud uds dott avv dhr mevr inż proff
    vs viz cf e.g i.e ca approx resp incl al
    z.b d.h u.a v.a s.o s.u bzw vgl ggf evtl inkl zzgl sog p.ej pág núm p.ex bijv o.a bl.a
    t.ex f.eks np tzn tzw św ul např tzv
    т.е ул проф акад напр π.χ δηλ د डॉ
""")

# These may end a sentence. If they do, a capital follows.
MAY_END = _words("""
    etc inc ltd co corp bros jr esq dept assn univ ave blvd rd gmbh bhd pty llc
    jan feb aug sept oct okt nov dec dez mon tue tues wed thu thur thurs fri
    usw usf u.dgl mio mrd bd str tel enz blz osv dvs m.fl m.m itd itp atd apod ecc κ.λπ κ.ά
    и.т.д т.д т.п др гг руб тыс млн млрд стр
    min sec hrs hr yr yrs mos oz lb lbs ft tsp tbsp cm km kg
""")

# Abbreviations only before a number: "no. 7", but "She said no."
BEFORE_NUMBER = _words("""
    no nos nr fig figs p pp vol vols ch art sec eq eqs ed pt op opp par pos cap col abs kap lit
    mar apr jun jul sun sat ver kl č str стр c г n º n° nº №
""")

# "am 3. Oktober", "am 3. Okt.": a small number before a month is an ordinal.
MONTHS = _words("""
    januar februar märz april mai juni juli august september oktober november dezember jänner
    jan feb mär mrz apr jun jul aug sept okt nov dez
""")

# After initials and acronyms ("the U.S. The") only these begin a new sentence.
STARTERS = _words("""
    The This That These Those There Then They He She It We You His Her Its Our Their My Your
    When Where While What Why How If But And Or So Yet However Although Because Since After
    Before During In On At For From With As An One Some Many Most Not No Now Here Also Even
    Did Do Does Is Are Was Were Have Has Had Can Could Would Should Mr Mrs Ms Miss Dr
    Der Die Ein Eine Er Sie Es Wir Ich Und Aber Il Elle Ils Elles Nous Les Une Mais C'est
""")

# After a name with an exclamation mark ("he left Yahoo! in the spring") these go on.
CONTINUERS = _words("""
    in on at by for from of to with as is was are were has had will would and or than
""")

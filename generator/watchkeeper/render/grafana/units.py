"""The ids of the units that Grafana knows: packages/grafana-data/src/valueFormats, as of Grafana 13."""

from __future__ import annotations

from functools import lru_cache

_IDS = """
none string short sishort percent percentunit humidity dB candela hex0x hex sci locale pixel
accMS2 accFS2 accG
degree radian grad arcmin arcsec
areaM2 areaF2 areaMI2 acres hectares
flops mflops gflops tflops pflops eflops zflops yflops
ppm conppb conngm3 conngNm3 conμgm3 conμgNm3 conmgm3 conmgNm3 congm3 congNm3 conmgdL conmmolL
currencyUSD currencyGBP currencyEUR currencyJPY currencyRUB currencyUAH currencyBRL currencyDKK currencyISK
currencyNOK
currencySEK currencyCZK currencyCHF currencyPLN currencyBTC currencymBTC currencyμBTC currencyZAR currencyINR
currencyKRW
currencyIDR currencyPHP currencyVND currencyTRY currencyMYR currencyXPF currencyBGN currencyPYG currencyUYU
currencyILS
bytes decbytes bits decbits kbytes deckbytes mbytes decmbytes gbytes decgbytes tbytes dectbytes pbytes decpbytes
pps binBps Bps binbps bps KiBs Kibits KBs Kbits MiBs Mibits MBs Mbits GiBs Gibits GBs Gbits TiBs Tibits TBs
Tbits PiBs
Pibits PBs Pbits
dateTimeAsIso dateTimeAsIsoNoDateIfToday dateTimeAsUS dateTimeAsUSNoDateIfToday dateTimeAsLocal
dateTimeAsLocalNoDateIfToday dateTimeAsSystem dateTimeFromNow
watt kwatt megwatt gwatt mwatt Wm2 voltamp kvoltamp voltampreact kvoltampreact watth watthperkg kwatth kwattm
mwatth amph
kamph mamph joule ev amp kamp mamp volt kvolt mvolt dBm mohm ohm kohm Mohm farad µfarad nfarad pfarad ffarad
henry mhenry
µhenry lumens
flowgpm flowcms flowcfs flowcfm litreh flowlpm flowmlpm lux
forceNm forcekNm forceN forcekN
Hs KHs MHs GHs THs PHs EHs
massmg massg masslb masskg masst
lengthmm lengthcm lengthin lengthft lengthm lengthkm lengthmi
pressurembar pressurebar pressurekbar pressurepa pressurehpa pressurekpa pressurehg pressurepsi
radbq radci radgy radrad radsv radmsv radusv radrem radexpckg radr radsvh radmsvh radusvh
rotrpm rothz rotkhz rotmhz rotghz rotrads rotdegs
celsius fahrenheit kelvin
hertz ns µs ms s m h d dtdurationms dtdurations dthms dtdhms timeticks clockms clocks
cps ops reqps rps wps iops eps mps recps rowsps cpm opm reqpm rpm wpm epm mpm recpm rowspm
velocityms velocitykmh velocitymph velocityknot
mlitre litre m3 Nm3 dm3 gallons
bool bool_yes_no bool_on_off
"""

# `suffix:requests`, `prefix:#`, `time:YYYY-MM`, `si:mV`, `count:sets`, `currency:EUR`, `bool:up/down`
PREFIXES = ("suffix:", "prefix:", "time:", "si:", "count:", "currency:", "bool:")


@lru_cache(maxsize=1)
def _ids() -> frozenset[str]:
    return frozenset(_IDS.split())


def known() -> list[str]:
    """Return the ids, sorted."""
    return sorted(_ids())


def is_known(unit: str) -> bool:
    """Return whether Grafana has a format for the unit. An empty one is none, which is fine."""
    return not unit or unit in _ids() or (unit.startswith(PREFIXES) and not unit.endswith(":"))

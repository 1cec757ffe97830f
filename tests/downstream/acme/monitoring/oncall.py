"""A module of Acme's that has nothing to do with watchkeeper, but for the teams that its alerts name."""

TEAM = "acme-serving"
PLATFORM = "acme-platform"
ROTA = ("ada", "grace", "edsger")

"""A module of Acme's that has nothing to do with watchkeeper, but for the team that its alerts name."""

TEAM = "acme-serving"
ROTA = ("ada", "grace", "edsger")

"""Incidents that happened, as series: what the alerts would have said, had they been there.

A log fixes points, not curves. Each incident keeps apart what was recorded and what is assumed between the points, and
what is assumed is tried in more than one shape. Times are seconds from the incident's start, data is in real time.
"""

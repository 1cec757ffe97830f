"""Hooks for the frameworks that own the loop: each module needs its framework, and none is imported by the agent."""

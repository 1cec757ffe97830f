"""What the definitions say, brought to Grafana and rulers: plan, apply, drift."""

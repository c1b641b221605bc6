"""How a bound pod comes to life on this machine: as a real Ray node, or as a state machine."""

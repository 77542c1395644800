"""The parts of bench/relay: processes, contestants, phases, verdict, report, gate."""

"""Ratios of the same round, their spread, and the targets."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Target:
    """`figure` of Evenkeel, over the anchor's of the same round (or as it is, without an anchor)."""
    text: str
    figure: str
    anchor: str | None
    limit: float | None  # None: a stretch alone, which nobody has to reach
    at_least: bool = False
    stretch: float | None = None
    within_spread: bool = False  # met already when the better quartile is

    def holds(self, value, limit):
        return value >= limit if self.at_least else value <= limit


TARGETS = (
    Target("requests per CPU-second / HAProxy", "unary_per_cpu_s", "haproxy", 1.25, True, 1.5),
    Target("requests per CPU-second / HAProxy + JSON", "unary_per_cpu_s", "haproxy_json", 1.7, True, 2.0),
    Target("CPU per event / nginx", "event_cpu_us", "nginx", 1.0),
    Target("CPU per event / HAProxy", "event_cpu_us", "haproxy", None, stretch=0.85),
    Target("added p50 / HAProxy", "added_p50_us", "haproxy", 1.0, within_spread=True),
    Target("added p99 / HAProxy", "added_p99_us", "haproxy", 1.0, within_spread=True),
    Target("CPU per 16 MiB body / HAProxy", "upload_cpu_ms", "haproxy", 1.1),
    Target("memory growth under 16 MiB bodies, MiB", "upload_growth_mib", None, 16.0),
    Target("memory per held stream, KiB", "held_kib_per_stream", None, 6.0),
)
ANCHORS = ("haproxy", "haproxy_json", "nginx")
RATIO_FIGURES = ("unary_per_cpu_s", "event_cpu_us", "added_p50_us", "added_p99_us", "upload_cpu_ms")


def spread(values):
    """Median, quartiles and range of what the rounds gave."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": statistics.median(values), "q1": low, "q3": high, "min": min(values), "max": max(values)}


def same_round(rounds, name, figure, anchor):
    """One value a round: the figure, divided by the anchor's in that round if there is an anchor."""
    values = []
    for figures in rounds:
        mine, other = figures.get(name, {}).get(figure), figures.get(anchor, {}).get(figure)
        if mine is not None and anchor is None:
            values.append(mine)
        elif mine is not None and other:
            values.append(mine / other)
    return values


def ratios(rounds, names):
    """Every contestant against every anchor."""
    rows = []
    for figure in RATIO_FIGURES:
        for name in names:
            for anchor in ANCHORS:
                values = same_round(rounds, name, figure, anchor) if name != anchor else []
                if values:
                    rows.append({"figure": figure, "contestant": name, "anchor": anchor, **spread(values)})
    return rows


def judge(rounds, names):
    """The targets, for each contestant that is Evenkeel: `met`, `stretch`, `within_spread`, `not_met`, `no_stretch`."""
    rows = []
    for target in TARGETS:
        for name in (name for name in names if name.startswith("evenkeel")):
            values = same_round(rounds, name, target.figure, target.anchor)
            if values:
                rows.append(_row(target, name, spread(values)))
    return rows


def _row(target, name, found):
    best_quartile = found["q3"] if target.at_least else found["q1"]
    if target.stretch is not None and target.holds(found["median"], target.stretch):
        outcome = "stretch"
    elif target.limit is None:
        outcome = "no_stretch"
    elif target.holds(found["median"], target.limit):
        outcome = "met"
    elif target.within_spread and target.holds(best_quartile, target.limit):
        outcome = "within_spread"
    else:
        outcome = "not_met"
    return {"target": target.text, "contestant": name, "at_least": target.at_least, "limit": target.limit,
            "stretch": target.stretch, "outcome": outcome, **found}


def cautions(figures, planned_events_per_s, load_before):
    """What a reader must know before comparing; `figures` are the spreads by contestant and figure."""
    notes = []
    if load_before > 0.5:
        notes.append(f"others were using this machine (load average {load_before:.1f}): expect noise")
    for name, own in figures.items():
        busy, events = own.get("unary_busy"), own.get("events_per_s")
        if busy and busy["median"] < 0.85:
            notes.append(f"{name}: core only {busy['median']:.0%} busy in the unary phase, so its figure there holds"
                         " more wake-ups than at saturation")
        if events and events["median"] < 0.95 * planned_events_per_s:
            notes.append(f"{name}: {events['median']:,.0f} of {planned_events_per_s:,.0f} events/s, so its CPU per"
                         " event does not compare")
    return notes

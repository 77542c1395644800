"""The measurements of one round, each of one contestant (or of the upstream itself: "direct")."""

import dataclasses
import json
import os
import subprocess

from .processes import BenchError, cpu_seconds, reset_peak, status_kib


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything. The defaults are the benchmark; others are for trying things out."""
    unary_connections: int = 256  # fewer leave a fast proxy waiting for core 1
    rate_connections: int = 64
    unary_seconds: float = 2.0
    warmup_seconds: float = 0.4
    rate_per_s: int = 5000
    rate_seconds: float = 2.0
    streams: int = 1000
    stream_interval_us: int = 25_000  # 40 tokens/s a stream, 40,000 events/s in all
    stream_seconds: float = 2.0
    look_every_us: int = 500  # the load's pace; see bench_load
    upload_bytes: int = 16 << 20
    upload_requests: int = 24
    upload_connections: int = 4
    held_streams: int = 1000
    quiet_seconds: float = 2.5  # before resident memory is read


def run_load(lab, port, arguments, on_mark=None, limit_seconds=120):
    """Runs bench_load to its end and returns its report; on_mark(name) is called at begin and end."""
    command = [os.path.join(lab.tools, "bench_load"), "--port", str(port), "--limit-seconds", str(limit_seconds),
               *map(str, arguments)]
    child = lab.child("load", command, core=lab.load_core, stdout=subprocess.PIPE)
    report = None
    for line in child.popen.stdout:
        message = json.loads(line)
        if "mark" not in message:
            report = message
        elif on_mark:
            on_mark(message["mark"])
    code = child.popen.wait()
    lab.children.remove(child)
    if code != 0 or report is None:
        raise BenchError(f"bench_load {' '.join(map(str, arguments))} ended with {code}: {child.log()}")
    return report


class CpuMeter:
    """Reads a proxy's CPU time at the load's marks."""

    def __init__(self, pids):
        self.pids, self.at = pids, {}

    def __call__(self, mark):
        self.at[mark] = cpu_seconds(self.pids)

    def seconds(self):
        return self.at["end"] - self.at["begin"]


def unary(lab, proxy, sizes):
    """Closed loop at saturation."""
    meter = CpuMeter(proxy.pids)
    report = run_load(lab, proxy.port, ["unary", "--connections", sizes.unary_connections, "--warmup-seconds",
                                        sizes.warmup_seconds, "--seconds", sizes.unary_seconds], meter)
    return {"unary_per_cpu_s": report["requests"] / meter.seconds(),
            "unary_per_s": report["requests"] / report["seconds"],
            "unary_busy": meter.seconds() / report["seconds"]}


def rate(lab, port, sizes):
    """Latency at a fixed rate, of a proxy or of the upstream directly."""
    report = run_load(lab, port, ["rate", "--rate", sizes.rate_per_s, "--connections", sizes.rate_connections,
                                  "--warmup-seconds", sizes.warmup_seconds, "--seconds", sizes.rate_seconds])
    return {"rate_p50_us": report["p50_us"], "rate_p99_us": report["p99_us"]}


def streams(lab, port, sizes, pids=()):
    """CPU per event and event delay with many paced streams."""
    # Enough events for warm-up, window and a margin for the slowest start; each stream runs to its [DONE].
    seconds = sizes.stream_seconds + sizes.warmup_seconds + 1.0
    meter = CpuMeter(pids)
    load = ["streams", "--in-step", "--look-every-us", sizes.look_every_us, "--streams", sizes.streams,
            "--interval-us", sizes.stream_interval_us, "--events", int(seconds * 1e6 / sizes.stream_interval_us),
            "--warmup-seconds", sizes.warmup_seconds, "--seconds", sizes.stream_seconds]
    report = run_load(lab, port, load, meter)
    figures = {"event_delay_p50_us": report["delay_p50_us"], "event_delay_p99_us": report["delay_p99_us"],
               "events_per_s": report["events"] / report["seconds"]}
    if pids:
        figures["event_cpu_us"] = meter.seconds() / report["events"] * 1e6
    return figures


def upload(lab, proxy, sizes):
    """CPU and peak memory of large request bodies."""
    reset_peak(proxy.pids)
    before = status_kib(proxy.pids, "VmHWM")
    meter = CpuMeter(proxy.pids)
    run_load(lab, proxy.port, ["upload", "--bytes", sizes.upload_bytes, "--requests", sizes.upload_requests,
                               "--connections", sizes.upload_connections], meter)
    peak = status_kib(proxy.pids, "VmHWM")
    return {"upload_cpu_ms": meter.seconds() / sizes.upload_requests * 1e3, "upload_peak_mib": peak / 1024,
            "upload_growth_mib": (peak - before) / 1024}


def hold(lab, proxy, sizes):
    """Resident memory of streams that have had their first event and wait for the next."""
    # Code and tables that the first requests touch are not the streams'.
    run_load(lab, proxy.port, ["streams", "--streams", 20, "--events", 5])
    before = status_kib(proxy.pids, "VmRSS")
    held = {}
    # Two events: the second comes after the reading, and the stream then ends as any other. (Hanging up instead
    # would leave HAProxy with a thousand upstream connections that it believes busy.)
    window = 0.3
    interval_us = int((sizes.quiet_seconds + window + 2.0) * 1e6)
    run_load(lab, proxy.port, ["streams", "--streams", sizes.held_streams, "--events", 2, "--interval-us", interval_us,
                               "--warmup-seconds", sizes.quiet_seconds, "--seconds", window],
             lambda mark: held.update({mark: status_kib(proxy.pids, "VmRSS")}))
    return {"held_kib_per_stream": (held["begin"] - before) / sizes.held_streams}

// Draws requests from ServeGen's tables: every client by itself, window by window, lengths independent of
// each other because the tables give no joint law.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "workload/collector.hpp"
#include "workload/readers.hpp"
#include "workload/servegen_tables.hpp"

namespace evenkeel::workload {

namespace {

/// Which windows are drawn at all: those that overlap the slice and whose client has lengths.
struct Drawn {
  std::vector<const ClientWindow*> windows;
  double requests = 0;  ///< expected inside the slice
  double left_out = 0;  ///< the same of clients without lengths
  std::set<std::uint32_t> clients_left_out;
  double seconds = 0;  ///< of the slice that the tables cover
};

Drawn choose_windows(const ServegenTables& tables, const Slice& slice) {
  Drawn drawn;
  const double end_s = tables.windows.back().start_s + tables.window_s;
  drawn.seconds = std::min(slice.to_s, end_s) - slice.from_s;
  for (const auto& window : tables.windows) {
    const double overlap =
        std::min(slice.to_s, window.start_s + tables.window_s) - std::max(slice.from_s, window.start_s);
    if (overlap <= 0) continue;
    if (tables.lengths_at(window.client, window.start_s) == nullptr) {
      drawn.left_out += overlap * window.rate;
      drawn.clients_left_out.insert(window.client);
      continue;
    }
    drawn.requests += overlap * window.rate;
    drawn.windows.push_back(&window);
  }
  return drawn;
}

/// A window has a generator of its own, so a slice of a day is the same as that part of the whole day drawn.
void draw_window(const ServegenTables& tables, const ClientWindow& window, double factor, std::uint64_t seed,
                 Collector& collector) {
  Random random(mix64(seed ^ mix64(window.client)) ^ static_cast<std::uint64_t>(window.start_s));
  const auto& lengths = *tables.lengths_at(window.client, window.start_s);
  const NameIndex client = collector.trace().intern(fmt::format("{}", window.client));
  const double mean_gap_s = 1 / (window.rate * factor);
  for (double at = window.draw_first_gap(mean_gap_s, random); at < tables.window_s;
       at += window.draw_gap(mean_gap_s, random)) {
    TraceRequest request;
    request.arrival = from_seconds(window.start_s + at);
    request.client = client;
    request.prompt_tokens = Tokens(lengths.prompt.draw(random));
    request.output_tokens = Tokens(lengths.output.draw(random));
    collector.add(request);
  }
}

}  // namespace

Result<Trace> read_servegen_tables(const TraceSpec& spec) {
  std::error_code code;
  const bool is_folder = std::filesystem::is_directory(spec.path, code);
  const auto parent = std::filesystem::path(spec.path).parent_path().string();
  const auto tables = read_servegen_folder(is_folder ? spec.path : parent.empty() ? "." : parent);
  if (!tables) return tl::unexpected(tables.error());
  const Drawn drawn = choose_windows(*tables, spec.slice);
  if (drawn.windows.empty()) return failure(spec.path + ": the slice has no window with a rate and lengths");
  const double factor = spec.rate ? *spec.rate * drawn.seconds / drawn.requests : 1;
  Collector collector(spec.slice);
  if (!drawn.clients_left_out.empty()) {
    collector.trace().notes.push_back(
        fmt::format("{} clients have no lengths and are left out, {:.1f} % of the requests",
                    drawn.clients_left_out.size(), 100 * drawn.left_out / (drawn.left_out + drawn.requests)));
  }
  for (const auto* window : drawn.windows) {
    // All of a window may interleave; earlier windows are whole.
    if (collector.past_end(from_seconds(window->start_s))) break;
    draw_window(*tables, *window, factor, spec.seed, collector);
  }
  return collector.finish();
}

}  // namespace evenkeel::workload

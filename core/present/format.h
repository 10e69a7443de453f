// Text for numbers, the same in the command line and the workbench.
// Owner: core/present. Thread: any; pure functions. English, '.' as decimal point, UTF-8.
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::present {

// Four significant digits with the fitting unit: "0 ns", "850 ns", "12.34 µs", "1.234 ms", "12.35 s"; from two minutes
// on "2 min 05 s", "3 h 07 min". "—" for NaN or infinity.
std::string formatTime(double ns);
// In full, for exact hover text: "1 234 567 ns".
std::string formatTimeExact(base::TimeNs ns);
// "512 B", "1.500 KiB", "173.5 KiB", "2.340 GiB": four significant digits.
std::string formatBytes(double bytes);
// "1_234_567", as Julia and Flux print numbers.
std::string formatCount(int64_t count);
// Three significant digits: "1.23 GFLOP/s", "845 MFLOP/s"; "" for 0 (unknown).
std::string formatFlopRate(double flopPerSecond);
// "12.3 GB/s"; "" for 0 (unknown).
std::string formatByteRate(double bytesPerSecond);
// "12.3 %"; "<0.1 %" for a positive share that would print as 0.
std::string formatShare(double share);
// Loss, ratios: at most `digits` significant digits, "—" for NaN.
std::string formatNumber(double value, int digits = 4);

} // namespace stepscope::present

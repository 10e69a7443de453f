// For LD_PRELOAD into programs under test. The shim is linked with libdnnl, so that the loader starts oneDNN before
// this constructor; that fills oneDNN's table itself instead of waiting for the program's first primitive.
#include "tests/support/onednn_cache_sizes.h"

namespace {

[[gnu::constructor]] void repairAtLoad() { stepscope::testing::repairOneDnnCacheSizes(); }

} // namespace

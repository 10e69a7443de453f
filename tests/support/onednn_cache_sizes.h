// Test-only repair of oneDNN 3.x on machines that hide their cache sizes.
// Owner: tests/support. Thread: call before any other use of oneDNN, from one thread.
//
// Some hypervisors answer the cache leaves of CPUID with zeros. oneDNN 3.x then takes every cache for one byte and
// computes wrong results (padded reorders leave cells unwritten); 2.x guesses and is right. The product refuses such a
// library (Backend::selfCheck()). The tests repair it, so that our own code for 3.x is tested on these machines too:
// oneDNN keeps the sizes in a static object, filled at first use, which is found by its contents and given usual sizes.
//
// Command line tests preload the same code: LD_PRELOAD=$<TARGET_FILE:stepscope_cache_size_shim>.
#pragma once

namespace stepscope::testing {

// Number of places repaired: 0 with 2.x, without oneDNN in the process, or where the sizes are sane. Says on stderr
// what it wrote.
int repairOneDnnCacheSizes();

// The reverse, for a test of the self-check: makes oneDNN 3.x of this process believe that the processor hides its
// caches. Number of places changed: 0 with 2.x or when the table is not found.
int hideOneDnnCacheSizes();

} // namespace stepscope::testing

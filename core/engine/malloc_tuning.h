// Keeps the C library from handing memory back to the system between steps.
// Owner: core/engine. Thread: any, once per process, before training.
#pragma once

namespace stepscope::engine {

// glibc gives blocks above a threshold straight back to the kernel and trims its heaps after a free; the next step then
// pays a page fault per 4 KB, many times the cost of the work itself. After this call freed memory stays with the
// process. Process-wide: only a program that trains calls it, through the Trainer. Does nothing with other C libraries.
void keepFreedMemory();

} // namespace stepscope::engine

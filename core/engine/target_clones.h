// STEPSCOPE_TARGET_CLONES: compiles a hot function once per x86-64 level and picks the best at load time, so that one
// binary runs everywhere and still uses AVX-512 where the machine has it. Expands to nothing where the compiler or the
// C library cannot do it; sanitizers instrument the resolver before they are ready, so they get the plain version.
// Owner: core/engine.
#pragma once

#include <cstdlib> // defines __GLIBC__ where it applies

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)                              \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __has_attribute(target_clones)
#define STEPSCOPE_TARGET_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#ifndef STEPSCOPE_TARGET_CLONES
#define STEPSCOPE_TARGET_CLONES
#endif

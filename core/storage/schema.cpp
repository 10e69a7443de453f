#include "core/storage/schema.h"

namespace stepscope::storage {

const char* const kCreateTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE tracks(id INTEGER PRIMARY KEY, name TEXT NOT NULL, thread_id INTEGER NOT NULL,
    kind INTEGER NOT NULL DEFAULT 0, process_id INTEGER NOT NULL DEFAULT 0, process TEXT NOT NULL DEFAULT '',
    group_name TEXT NOT NULL DEFAULT '', device INTEGER NOT NULL DEFAULT -1, lane INTEGER NOT NULL DEFAULT 0,
    sort_index INTEGER NOT NULL DEFAULT 0);
CREATE TABLE labels(id INTEGER PRIMARY KEY, name INTEGER, kind INTEGER NOT NULL, phase INTEGER NOT NULL,
    layer INTEGER, primitive INTEGER, category INTEGER);
CREATE TABLE layers(id INTEGER PRIMARY KEY, name TEXT, path TEXT, type TEXT, text TEXT, parent INTEGER, input TEXT,
    output TEXT, parameters INTEGER, forward_flop INTEGER, backward_flop INTEGER, forward_bytes INTEGER,
    backward_bytes INTEGER);
CREATE TABLE primitives(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, implementation TEXT, formats TEXT, layer INTEGER,
    phase INTEGER, flop INTEGER, bytes INTEGER, threads INTEGER, flags INTEGER);
CREATE TABLE counters(id INTEGER PRIMARY KEY, name TEXT, unit TEXT);
CREATE TABLE environment(id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT);
CREATE TABLE quality(id INTEGER PRIMARY KEY, code TEXT NOT NULL, count INTEGER, message TEXT,
    places TEXT NOT NULL DEFAULT '');
CREATE TABLE steps(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, epoch INTEGER, warmup INTEGER, start_ns INTEGER,
    duration_ns INTEGER, samples INTEGER, loss REAL, thread_involuntary_switches INTEGER, thread_minor_faults INTEGER,
    thread_major_faults INTEGER, process_involuntary_switches INTEGER, process_minor_faults INTEGER,
    group_text INTEGER, index_shift INTEGER NOT NULL DEFAULT 0);
CREATE TABLE span_chunks(id INTEGER PRIMARY KEY, track INTEGER NOT NULL, rows INTEGER NOT NULL, first_ns INTEGER,
    last_ns INTEGER, start BLOB, duration BLOB, label BLOB, step BLOB);
CREATE TABLE counter_chunks(id INTEGER PRIMARY KEY, counter INTEGER NOT NULL, rows INTEGER NOT NULL, time BLOB,
    value BLOB);
CREATE TABLE frames(id INTEGER PRIMARY KEY, function INTEGER, module INTEGER, file INTEGER, line INTEGER NOT NULL,
    address INTEGER NOT NULL, flags INTEGER NOT NULL, primitive INTEGER);
CREATE TABLE stack_chunks(id INTEGER PRIMARY KEY, rows INTEGER NOT NULL, parent BLOB, frame BLOB);
CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, kind INTEGER NOT NULL,
    timed INTEGER NOT NULL, is_default INTEGER NOT NULL);
CREATE TABLE sample_chunks(id INTEGER PRIMARY KEY, series INTEGER NOT NULL, rows INTEGER NOT NULL, first_ns INTEGER,
    last_ns INTEGER, time BLOB, weight BLOB, stack BLOB, label BLOB, track BLOB, step BLOB);
)sql";

} // namespace stepscope::storage

-- How folds find new rows. Rows are appended, so neighbouring pages were written by neighbouring transactions: a BRIN index says so
-- with a few bytes for each range of pages, where an entry for each row was a tenth of what an event cost. BRIN has no operators for
-- xid8, but for its eight bytes, most significant first. Ranges are summarised by src/reports/rollup/ranges.ts.
drop index sessions_written_by;
create index sessions_written_by on sessions using brin (xid8send(written_by)) with (pages_per_range = 128);

drop index events_written_by;
create index events_written_by on events using brin (xid8send(written_by)) with (pages_per_range = 128);

-- Conversions come late, each to the day of its session, and are few.
drop index bookings_written_by;
create index bookings_written_by on bookings (xid8send(written_by));

-- Lists of raw rows read the newest rows of one publisher. Without these indexes, they read the rows of all publishers.
-- Impressions are found through their sessions, because an index entry for each impression would cost too much.
-- Building the indexes for partitions with many rows would block fetches and beacons. These partitions are read as
-- before, and are dropped at the end of the retention.
do $$
declare
  made record;
  part record;
begin
  for made in
    select * from (values
      ('sessions', 'sessions_publisher', '(publisher_id, day, id)'),
      ('usp_sessions', 'usp_sessions_publisher', '(publisher_id, day, session_id)'),
      ('bookings', 'bookings_publisher', '(publisher_id, day, session_id)'),
      ('conversions', 'conversions_suspicious', '(publisher_id, day, session_id) where suspicious is not null'),
      ('events', 'events_publisher', '(publisher_id, day, session_id) where kind <> ''impression''
        or suspicious is not null or revenue_micros <> 0 or unbilled_micros <> 0')
    ) as indexes (parent, index_name, definition)
  loop
    execute format('create index %I on only %I %s', made.index_name, made.parent, made.definition);
    for part in
      select c.oid::regclass as name,
        left(c.relname, 48) || substr(made.index_name, length(made.parent) + 1) as index_name
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = made.parent::regclass and pg_table_size(c.oid) < 16 * 1024 * 1024
    loop
      execute format('create index %I on %s %s', part.index_name, part.name, made.definition);
      execute format('alter index %I attach partition %I', made.index_name, part.index_name);
    end loop;
  end loop;
end $$;

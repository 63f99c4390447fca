-- Sessions are found by the keyed hash of an e-mail address, which only their decision has. The index costs a session
-- without such a hash one search for a short text. Building it for partitions with many sessions would block fetches:
-- they go without, are searched row by row, and are dropped at the end of the retention.
create index sessions_email_key on only sessions
  (publisher_id, substring(decision from '"emailKey":"([0-9a-f-]{36})"'))
  where strpos(decision, '"emailKey":"') > 0;

do $$
declare
  part record;
begin
  for part in
    select c.oid::regclass as name, left(c.relname, 48) || '_email_key' as index_name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'sessions'::regclass and pg_table_size(c.oid) < 16 * 1024 * 1024
  loop
    execute format(
      'create index %I on %s (publisher_id, substring(decision from %L)) where strpos(decision, %L) > 0',
      part.index_name, part.name, '"emailKey":"([0-9a-f-]{36})"', '"emailKey":"'
    );
    execute format('alter index sessions_email_key attach partition %I', part.index_name);
  end loop;
end $$;

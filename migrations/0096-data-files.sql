-- Data files: rows that are exported to a folder or a bucket (docs/guides/data-files.md).

create table data_file_runs (
  id integer primary key,
  -- Rows of this run: those of the transactions in [from_xid, until_xid) and of `late_xids`, without `open_xids`.
  from_xid xid8 not null,
  until_xid xid8 not null,
  -- Transactions before from_xid that were open when the previous run was planned.
  late_xids xid8[] not null,
  -- Transactions before until_xid that were open when this run was planned. A later run has their rows.
  open_xids xid8[] not null,
  planned_at timestamptz not null default now(),
  -- When the manifest was written; null: the run is not complete.
  confirmed_at timestamptz,
  -- Number of times that the run was started.
  attempts integer not null default 0,
  rows bigint,
  files integer,
  bytes bigint,
  -- Why the last attempt failed; null: it did not fail.
  error text,
  failed_at timestamptz,
  -- When the database was restored into another cluster, whose transaction numbers do not continue those of this run.
  restored_at timestamptz
);
comment on table data_file_runs is
  'Exports of rows to data files. Each run covers the transactions since the previous one; only the last may be open.';
create unique index data_file_runs_open on data_file_runs ((true)) where confirmed_at is null;

create table data_file_erasures (
  day date not null,
  -- Null: a user, whose sessions may have been dropped from the database.
  session_id uuid,
  publisher_id integer not null,
  -- Null once the row is exported.
  user_key uuid,
  -- When the erasure was requested.
  erased_at timestamptz not null,
  written_by xid8 not null default pg_current_xact_id()
);
comment on table data_file_erasures is
  'Erased sessions and users, to be exported as tombstones. Written in the transaction that erases the session.';
create unique index data_file_erasures_session on data_file_erasures (session_id);
create unique index data_file_erasures_user on data_file_erasures (user_key, erased_at) where session_id is null;
create index data_file_erasures_written_by on data_file_erasures (xid8send(written_by));

-- Rows that are exported name the transaction that wrote them, as sessions, events and bookings do. Rows from before
-- have null, and belong to the first run. A column default and triggers also serve processes of the previous release.
alter table conversions add column written_by xid8;
alter table conversions alter column written_by set default pg_current_xact_id();
create index conversions_written_by on only conversions (xid8send(written_by)) where written_by is not null;

alter table usp_sessions add column wrapped_by xid8;
comment on column usp_sessions.wrapped_by is
  'Transaction of the wrap; null: not wrapped, or wrapped by an earlier release.';
create index usp_sessions_wrapped_by on only usp_sessions (xid8send(wrapped_by)) where wrapped_by is not null;
create function note_wrap() returns trigger language plpgsql as $$
begin
  new.wrapped_by := pg_current_xact_id();
  return new;
end $$;
create trigger note_wrap before insert or update of wrapped_at on usp_sessions
  for each row when (new.wrapped_at is not null) execute function note_wrap();

alter table perk_messages add column changed_by xid8;
comment on column perk_messages.changed_by is 'Transaction of the last change of the state; null: before this column.';
create function note_message_change() returns trigger language plpgsql as $$
begin
  new.changed_by := pg_current_xact_id();
  return new;
end $$;
create trigger note_message_change before insert or update of state on perk_messages
  for each row execute function note_message_change();

alter table deliveries add column written_by xid8;
alter table deliveries alter column written_by set default pg_current_xact_id();
alter table delivery_attempts add column written_by xid8;
alter table delivery_attempts alter column written_by set default pg_current_xact_id();
-- BRIN indexes, as of sessions. The column never changes after the insert, so updates stay heap-only.
create index deliveries_written_by on only deliveries
  using brin (xid8send(written_by)) with (pages_per_range = 128);
create index delivery_attempts_written_by on only delivery_attempts
  using brin (xid8send(written_by)) with (pages_per_range = 128);

-- Only small tables get their indexes here, because writers of these tables wait until this migration ends. Exports
-- build those of large tables without blocking writers.
do $$
declare
  part record;
begin
  for part in
    select c.oid::regclass as name, left(c.relname, 48) || '_' || r.column_name as index_name,
      r.parent || '_' || r.column_name as parent_index
    from (values ('conversions', 'written_by'), ('usp_sessions', 'wrapped_by'), ('deliveries', 'written_by'),
      ('delivery_attempts', 'written_by')) as r (parent, column_name)
    join pg_inherits i on i.inhparent = r.parent::regclass join pg_class c on c.oid = i.inhrelid
    where pg_table_size(c.oid) < 1024 * 1024
  loop
    execute format('create index %I on %s %s', part.index_name, part.name,
      substring(pg_get_indexdef(part.parent_index::regclass) from ' (USING .*)$'));
    execute format('alter index %I attach partition %I', part.parent_index, part.index_name);
  end loop;
  if pg_table_size('perk_messages') < 1024 * 1024 then
    create index perk_messages_changed_by on perk_messages (xid8send(changed_by)) where changed_by is not null;
  end if;
end $$;

-- As before, and with the rows of data files. Data files start again after a restore (`perkwire data restart`).
create or replace function continue_restored_rollups() returns boolean language plpgsql as $$
declare
  done record;
  source text;
begin
  select until_xid, open_xids into done from rollup_progress for update;
  if done.until_xid <= pg_snapshot_xmax(pg_current_snapshot()) then
    return false;
  end if;
  foreach source in array array['sessions', 'events', 'bookings'] loop
    execute format('update %I set written_by = case
        when written_by >= $1 or written_by = any($2) then pg_current_xact_id() else ''0'' end
      where written_by >= pg_snapshot_xmax(pg_current_snapshot()) or written_by = any($2)', source)
      using done.until_xid, done.open_xids;
  end loop;
  update own_outcomes set written_by = '0' where written_by >= pg_snapshot_xmax(pg_current_snapshot());
  foreach source in array array['conversions', 'deliveries', 'delivery_attempts', 'data_file_erasures'] loop
    execute format(
      'update %I set written_by = ''0'' where written_by >= pg_snapshot_xmax(pg_current_snapshot())', source);
  end loop;
  update usp_sessions set wrapped_by = '0' where wrapped_by >= pg_snapshot_xmax(pg_current_snapshot());
  update perk_messages set changed_by = '0' where changed_by >= pg_snapshot_xmax(pg_current_snapshot());
  update data_file_runs set restored_at = now();
  update rollup_progress set until_xid = pg_current_xact_id(), open_xids = '{}';
  return true;
end $$;

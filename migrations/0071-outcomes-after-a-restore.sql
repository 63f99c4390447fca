-- Own outcomes are renumbered after a restore, too: audiences and experiments find them by the transactions of rows.

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
  update rollup_progress set until_xid = pg_current_xact_id(), open_xids = '{}';
  return true;
end $$;

-- What became of the sessions of each UTC day, and of the events that belong to them, however late they come.
select pg_advisory_xact_lock(hashtext('perkwire_rollups')); -- no fold meanwhile

create table reconciliation (
  day date not null, -- of the session
  publisher_id integer not null,
  kind text collate "C" not null, -- filled, empty: sessions; shown: offers of sessions; else the kind of event
  reason text collate "C" not null, -- why it is left out of reports (dev, or what is suspicious), why a session is empty, or ''
  count bigint not null,
  primary key (day, publisher_id, kind, reason)
) with (fillfactor = 70);

insert into reconciliation
select day, publisher_id, kind, reason, sum(count) from (
  select day, publisher_id, case when cardinality(offer_ids) > 0 then 'filled' else 'empty' end as kind,
    case when dev then 'dev' when cardinality(offer_ids) > 0 then '' else coalesce(empty_reason, 'unknown') end as reason, count(*) as count
  from sessions, rollup_progress where written_by < upto and written_by <> all (unfinished) group by 1, 2, 3, 4
  union all
  select day, publisher_id, 'shown', case when dev then 'dev' else '' end, sum(cardinality(offer_ids))
  from sessions, rollup_progress where written_by < upto and written_by <> all (unfinished) and cardinality(offer_ids) > 0 group by 1, 2, 3, 4
  union all
  select day, publisher_id, kind, coalesce(suspicious, ''), count(*)
  from events, rollup_progress where written_by < upto and written_by <> all (unfinished) group by 1, 2, 3, 4
) as folded group by 1, 2, 3, 4;

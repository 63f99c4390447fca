-- Postbacks of paid clicks and impressions: which events a publisher wants, and whether it has an endpoint for them.
alter table publishers
  add column postback_events text[] not null default '{click,conversion}'
    check (postback_events <@ '{impression,click,conversion}'),
  add column has_postbacks boolean not null default false;
comment on column publishers.postback_events is 'Paid events that are posted back: impression, click, conversion.';
comment on column publishers.has_postbacks is
  'Whether an endpoint receives postbacks; set by a trigger of webhook_endpoints.';

create function note_postback_endpoints() returns trigger language plpgsql as $$
declare
  changed integer := case when tg_op = 'DELETE' then old.publisher_id else new.publisher_id end;
begin
  -- Changes of the endpoints of one publisher are noted one after the other, each with those before it.
  perform from publishers where id = changed for no key update;
  update publishers p set has_postbacks = not p.has_postbacks
  where p.id = changed and p.has_postbacks <> exists (
    select from webhook_endpoints e
    where e.publisher_id = p.id and e.deleted_at is null
      and (e.event = 'conversion' or 'conversion' = any(e.events))
  );
  return null;
end $$;

create trigger note_postback_endpoints after insert or delete or update of event, events, deleted_at
  on webhook_endpoints for each row execute function note_postback_endpoints();

update publishers p set has_postbacks = true
where exists (
  select from webhook_endpoints e
  where e.publisher_id = p.id and e.deleted_at is null
    and (e.event = 'conversion' or 'conversion' = any(e.events))
);

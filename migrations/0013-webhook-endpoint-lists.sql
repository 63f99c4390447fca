-- Several endpoints for an event. A default endpoint (event) gets that event; every other has a list of events.
alter table webhook_endpoints
  alter column event drop not null,
  drop constraint webhook_endpoints_event_check,
  add column events text[] check (cardinality(events) between 1 and 50),
  add column description text not null default '' check (char_length(description) <= 200),
  add column filter jsonb check (octet_length(filter::text) <= 10000),
  add constraint webhook_endpoints_events check ((event is null) <> (events is null));
comment on table webhook_endpoints is 'Where the webhooks of a publisher are sent.';
comment on column webhook_endpoints.event is 'Of a default endpoint: the one event it gets. Null: see events.';
comment on column webhook_endpoints.events is 'Null: a default endpoint.';
comment on column webhook_endpoints.filter is 'Condition on the payload; null: every event.';

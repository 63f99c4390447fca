-- Reservations are released in steps, as the chance fades that their events still come.

alter table cap_reservations add column step smallint not null default 0;
create index cap_reservations_steps on cap_reservations (step, session_id);
comment on table cap_reservations is
  'The parts of campaign_usage that are reserved for responses whose paying events are still to come. They shrink with
the age of the session, whose time is in session_id, a UUIDv7.';
comment on column cap_reservations.reserved is
  'JSON: [time zone, [[offer, campaign, publisher (0: over all), impressions, micros, paid by (0 impressions, 1 clicks,
2 conversions)] each]] each. Time zone and time of the session give the periods of campaign_usage it is counted in.';
comment on column cap_reservations.step is 'How many of the releases it has been through.';

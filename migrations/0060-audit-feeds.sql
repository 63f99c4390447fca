-- How far the audit log was sent: as webhooks, and to a syslog receiver.

create table audit_feeds (
  name text primary key check (name in ('syslog', 'webhooks')),
  leased_until timestamptz,
  sent_at timestamptz,
  failed_at timestamptz,
  error text
);
comment on table audit_feeds is 'Where new entries of the audit log go, one after the other, each of them.';
comment on column audit_feeds.leased_until is 'Until then one process is sending.';
comment on column audit_feeds.failed_at is 'Since when sending has failed; null: it did not.';

create table audit_feed_positions (
  feed text not null references audit_feeds on delete cascade,
  publisher_id integer not null,
  number bigint not null,
  primary key (feed, publisher_id)
);
comment on table audit_feed_positions is
  'The last entry of each log that was sent; 0: the log of the operators. One that is not here is sent from its start.';

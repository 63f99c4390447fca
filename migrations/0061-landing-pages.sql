-- Landing pages of campaigns, looked at daily.

alter table publishers add column landing_pages_checked boolean not null default true;
comment on column publishers.landing_pages_checked is
  'Landing pages of its campaigns are looked at; a campaign whose page is gone or has moved is paused.';

create table landing_pages (
  campaign_id integer primary key references campaigns on delete cascade,
  publisher_id integer not null references publishers on delete cascade,
  url text not null,
  host text not null,
  next_look_at timestamptz not null,
  looking_until timestamptz,
  looked_at timestamptz,
  result text check (result in ('found', 'gone', 'moved', 'unreachable')),
  problem text,
  status smallint,
  redirects smallint,
  leads_to text,
  known_host text,
  failures integer not null default 0,
  failing_since timestamptz,
  paused_at timestamptz
);
create index landing_pages_publisher on landing_pages (publisher_id);
create index landing_pages_looking on landing_pages (host) where looking_until is not null;
comment on table landing_pages is 'What the last look at the landing page of a campaign came to.';
comment on column landing_pages.url is 'As it was looked at; another one of the campaign begins anew.';
comment on column landing_pages.looking_until is 'A process looks at it; its host is left alone by others until then.';
comment on column landing_pages.leads_to is 'The host that answered, after redirects.';
comment on column landing_pages.known_host is 'The host that it led to when all was well; null: never yet.';
comment on column landing_pages.failures is 'Looks in a row that found it gone, or moved.';
comment on column landing_pages.paused_at is 'When the campaign was paused for it; kept until all is well again.';

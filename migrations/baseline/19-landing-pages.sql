-- Checks of landing pages.

create table landing_pages (
  campaign_id integer references campaigns on delete cascade,
  publisher_id integer not null references publishers on delete cascade,
  -- URL that was checked. Another URL starts anew.
  url text not null,
  host text not null,
  next_look_at timestamptz not null,
  -- A process checks the page until then. Other processes do not call its host meanwhile.
  looking_until timestamptz,
  looked_at timestamptz,
  result text check (result in ('found', 'gone', 'moved', 'unreachable')),
  problem text,
  status smallint,
  redirects smallint,
  -- Host that answered, after redirects.
  leads_to text,
  -- Host that answered the last successful check; null: none yet.
  known_host text,
  -- Consecutive checks with the result gone or moved.
  failures integer not null default 0,
  failing_since timestamptz,
  -- When the campaign or offer was paused because of the page. Kept until a check succeeds.
  paused_at timestamptz,
  -- Offer whose secondary action leads to the page; null: the page of a campaign.
  offer_id integer references offers on delete cascade,
  -- Owner of the page: "campaign 12" or "offer 7".
  subject text
    generated always as (case when offer_id is null then 'campaign ' || campaign_id::text
      else 'offer ' || offer_id::text end) stored primary key,
  constraint landing_pages_campaign_id_key unique (campaign_id),
  constraint landing_pages_offer_id_key unique (offer_id),
  constraint landing_pages_of_one check (num_nonnulls(campaign_id, offer_id) = 1)
);
comment on table landing_pages is
  'Last daily check of the landing page of a campaign, or of the page of an offer''s secondary action.';
create index landing_pages_publisher on landing_pages (publisher_id);
create index landing_pages_looking on landing_pages (host) where looking_until is not null;

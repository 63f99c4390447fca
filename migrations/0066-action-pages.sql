-- Pages of the secondary actions of offers, looked at as landing pages of campaigns are.

alter table landing_pages drop constraint landing_pages_pkey;
alter table landing_pages alter column campaign_id drop not null;
alter table landing_pages
  add column offer_id integer references offers on delete cascade,
  add constraint landing_pages_campaign_id_key unique (campaign_id),
  add constraint landing_pages_offer_id_key unique (offer_id),
  add constraint landing_pages_of_one check (num_nonnulls(campaign_id, offer_id) = 1);
alter table landing_pages
  add column subject text
    generated always as (case when offer_id is null then 'campaign ' || campaign_id::text
      else 'offer ' || offer_id::text end) stored primary key;
comment on table landing_pages is
  'What the last look at the landing page of a campaign, or the page of an offer''s secondary action, came to.';
comment on column landing_pages.url is 'As it was looked at; another one begins anew.';
comment on column landing_pages.paused_at is
  'When the campaign, or the offer, was paused for it; kept until all is well.';
comment on column landing_pages.offer_id is 'Whose secondary action leads there; null: it is that of a campaign.';
comment on column landing_pages.subject is 'Whose page it is: campaign 12, or offer 7.';
comment on column publishers.landing_pages_checked is
  'Pages that campaigns and secondary actions of offers lead to are looked at; who leads to a lost one is paused.';

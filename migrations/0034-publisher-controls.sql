-- What a publisher never shows, whatever is provisioned to it.
alter table publishers add column controls jsonb;
comment on column publishers.controls is
  'Blocked categories, brands, advertisers, domains, offers and words, what is kept apart, and floors by placement;
null: no rules.';

alter table publishers add column language text not null default 'en';
comment on column publishers.language is
  'BCP 47 tag: of fetches that name no language, and of offers that do not say theirs.';

alter table offers
  add column language text,
  add column translations jsonb not null default '{}' check (jsonb_typeof(translations) = 'object');
comment on column offers.language is 'BCP 47 tag of the offer''s own texts; null: the language of the publisher.';
comment on column offers.translations is 'Texts in other languages, by BCP 47 tag and column.';

alter table creatives add column language text;
comment on column creatives.language is 'BCP 47 tag of readers that it is for; null: of all.';

alter table sessions add column language text;
comment on column sessions.language is
  'What the fetch asked for: BCP 47 tags, the preferred one first, separated by commas; null: no language.';

alter table wallet_items add column language text;
comment on column wallet_items.language is 'As of the session it was saved from.';

-- Links with which other websites embed pages of a publisher, and the session that each link has started.

create table portal_links (
  id uuid primary key,
  publisher_id integer not null references publishers on delete cascade,
  key_id integer not null,
  token_hash bytea not null unique,
  permissions text[] not null,
  theme jsonb not null,
  language text,
  frame_origin text not null,
  user_label text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  session_hash bytea,
  revoked_at timestamptz
);
create index portal_links_expiry on portal_links (expires_at);
comment on table portal_links is 'Links that embed pages of a publisher in another website (docs/guides/portal.md).';
comment on column portal_links.key_id is 'API key that created the link; without it, the link and its session end.';
comment on column portal_links.session_hash is 'Hash of the session cookie; null: the link was not opened.';

-- Pictures that are handed in with a draft.

create table draft_pictures (
  draft_id integer primary key references drafts on delete cascade,
  bytes bytea not null
);
comment on table draft_pictures is
  'The picture of a draft until it is live: then it is that of a creative. Kept while the draft may still go live.';

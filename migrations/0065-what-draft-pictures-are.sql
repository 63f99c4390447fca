-- What the bytes of a draft's picture are: of a new offer's first picture nothing else says it.

alter table draft_pictures add column type text, add column width integer, add column height integer;
comment on column draft_pictures.type is 'As of creatives. Null, as width and height: the changes of the draft say it.';
comment on column draft_pictures.bytes is 'Empty where they were dropped since the draft was refused long ago.';

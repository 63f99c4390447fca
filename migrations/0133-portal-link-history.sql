-- Who created each portal link and when it was opened, for the list of links.

alter table portal_links add column created_by text not null default '';
alter table portal_links add column opened_at timestamptz;
create index portal_links_publisher on portal_links (publisher_id, id);
comment on column portal_links.created_by is 'Name of the API key or user that created the link.';
comment on column portal_links.opened_at is 'When the link was opened; null: never, or by an earlier release.';

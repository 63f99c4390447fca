-- The search finds the conversion with the ID that postbacks and data files contain.

create index conversions_id on conversions (id);

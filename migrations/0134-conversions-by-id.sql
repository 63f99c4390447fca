-- The search finds the conversion with the ID that postbacks and data files contain. Only new partitions get the index
-- here, because building it for existing ones would block conversions. The export of data files adds the rest later.

create index conversions_id on only conversions (id);

-- Pictures may live outside the database (IMAGE_STORE): the row then knows the digest, under which the store keeps the bytes.
alter table creative_images alter column bytes drop not null;

-- Pages of these hosts may show the offerwall in a frame: CSP host sources such as https://shop.example or https://*.shop.example.
alter table publishers add column frame_hosts text[] not null default '{}' check (cardinality(frame_hosts) <= 50);

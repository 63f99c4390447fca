-- People who are in audiences by their e-mail address only are erased by the address or by its hash.
alter table erasures
  drop constraint erasures_named_by_check,
  add constraint erasures_named_by_check check (named_by in ('pub_user_id', 'ad_fp', 'email', 'email_sha256'));

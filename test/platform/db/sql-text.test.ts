import { expect, test } from 'vitest';
import { sqlTokens } from '../../../src/platform/db/sql-text.ts';

test.each([
  ['line comments', 'select 1 -- one; two\n, 2', 'select 1, 2'],
  ['a final comment without a line break', 'select 1 -- one', 'select 1'],
  ['nested block comments', 'select /* a /* b; */ c -- */ 1', 'select 1'],
  ['a quote inside a comment', "select 1 -- don't\n; select 2", 'select 1; select 2'],
  ['a dollar tag inside a comment', 'select 1 -- $$\n; select 2', 'select 1; select 2'],
  ['white space and line ends', 'create table a (\r\n\tx integer\r\n);\r\n', 'create table a(x integer)'],
  ['a comment that separates words', 'select/**/1', 'select 1'],
  ['descriptions of tables and columns', "select 1; COMMENT ON TABLE a IS 'It''s; old';", 'select 1'],
  ['empty statements', 'select 1;;', 'select 1;'],
  ['a comment between two parts of a literal', "select 'a' -- b\n'c'", "select 'a'\n'c'"],
  ['a comment right after an operator', 'select 1 +-- plus\n2', 'select 1 + 2'],
  ['a comment after a literal that ends with a backslash', "select 'a\\' -- b'", "select 'a\\'"],
])('ignores %s', (_name, first, other) => {
  expect(sqlTokens(first)).toEqual(sqlTokens(other));
});

test.each([
  ['spaces in a literal', "select 'a  b'", "select 'a b'"],
  ['comment syntax in a literal', "select 'a -- b'", "select 'a '"],
  ['an escaped quote in an E string', "select E'a\\' -- b'", "select E'a\\' -- c'"],
  ['an E string that continues on the next line', "select E'a'\n'\\' -- b'", "select E'a'\n'\\' -- c'"],
  ['a doubled quote', "select 'a''b'", "select 'a' 'b'"],
  ['a quoted identifier', 'select "a -- b"', 'select "a "'],
  ['a comment inside a dollar-quoted body', 'do $$ begin -- a\n end $$', 'do $$ begin -- b\n end $$'],
  ['a body with an inner tag', 'do $a$ select $$ -- x $$ $a$', 'do $a$ select $$ -- y $$ $a$'],
  ['a space after a string prefix', "select E 'a'", "select E'a'"],
  ['a dollar sign in a name', 'select a$b$ -- c$b$', 'select a$b$c$b$'],
  ['a space between two minus signs', 'select 1 - - 1', 'select 1 -- 1'],
  ['the value of a default', 'alter table a add x integer default 1', 'alter table a add x integer default 2'],
  ['the order of statements', 'select 1; select 2', 'select 2; select 1'],
])('does not ignore %s', (_name, first, other) => {
  expect(sqlTokens(first)).not.toEqual(sqlTokens(other));
});

test('a statement truncated at any point is read to its end', () => {
  const text = "select E'a\\'b', \"c\", $x$ d $x$ /* e /* f */ */ -- g";
  for (let length = 0; length <= text.length; length += 1) expect(() => sqlTokens(text.slice(0, length))).not.toThrow();
});

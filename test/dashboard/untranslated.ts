import type { Pool } from 'pg';
import type { Page } from 'playwright-core';
import { languages } from '../../src/platform/i18n/languages.ts';
import { pseudoLocale } from '../../src/platform/i18n/reader.ts';

/**
 * Script for the browser. It returns the text, labels, placeholders and titles of a document outside ⟦ ⟧, each with its
 * element. It skips code, times, elements with `translate="no"`, and options that are named like their value.
 */
const listOutside = `(markup) => {
  const parsed = new DOMParser().parseFromString(markup, 'text/html');
  const names = ['aria-label', 'title', 'placeholder', 'alt', 'data-confirm', 'data-confirm-button'];
  const skipped = 'script, style, code, pre, time, textarea, svg, [translate="no"]';
  const found = [];
  let depth = 0;
  const read = (text, where) => {
    let outside = '';
    for (const character of text) {
      if (character === '⟦') { depth++; outside += '|'; }
      else if (character === '⟧') depth--;
      else if (depth === 0) outside += character;
    }
    for (const part of outside.split('|')) if (part.trim() !== '') found.push([part.trim(), where]);
  };
  const describe = (element) => element.localName + (element.className ? '.' + element.className : '');
  const isNamedByValue = (element) =>
    element.localName === 'option' && element.value.replaceAll('_', ' ') === element.textContent;
  const visit = (element) => {
    if (element.matches(skipped) || isNamedByValue(element)) return;
    for (const name of names) {
      const value = element.getAttribute(name);
      if (value === null) continue;
      const before = depth;
      depth = 0;
      read(value, describe(element) + ' ' + name);
      depth = before;
    }
    for (const child of element.childNodes)
      if (child.nodeType === Node.TEXT_NODE) read(child.data, describe(element));
      else if (child.nodeType === Node.ELEMENT_NODE) visit(child);
  };
  read(parsed.title, 'title');
  visit(parsed.body);
  return found;
}`;

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...stringsIn(inner)]);
}

/** Returns all stored strings, which pages may show without translation. */
export async function storedTexts(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  const texts = new Set(['Perkwire', 'cart_total', 'pub_user_id', 'English', 'Deutsch']);
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: object }>(`select to_jsonb(t) as row from ${name} t limit 300`);
    for (const { row } of rows)
      for (const value of Object.values(row)) for (const text of stringsIn(value)) texts.add(text);
  }
  const countries = new Intl.DisplayNames(['en'], { type: 'region' });
  for (const code of ['US', 'DE', 'GB', 'FR']) texts.add(countries.of(code) ?? code);
  const ofLanguages = new Intl.DisplayNames(['en'], { type: 'language' });
  for (const tag of Object.keys(languages)) texts.add(ofLanguages.of(tag) ?? tag);
  return [...texts].join('\n');
}

const days = 'Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun';
const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec';
const dates = new RegExp(`\\b(?:(?:${days})(?:day)?|${months}|[AP]M)\\b`, 'g');
const separators = /\s*[,·:;()/|→–+=…&]+\s*|\s+(?=\d)|(?<=\d)\s+/;

/** Returns the strings on a page that are neither in the message files nor stored. */
export async function untranslatedTexts(tab: Page, url: string, cookie: string, stored: string): Promise<string[]> {
  const answer = await fetch(url, { headers: { cookie, 'accept-language': pseudoLocale }, redirect: 'manual' });
  if (answer.status >= 300 && answer.status !== 404 && answer.status !== 422)
    return [`${url}: answered ${answer.status}`];
  const outsideTexts = (await tab.evaluate(`(${listOutside})(${JSON.stringify(await answer.text())})`)) as [
    string,
    string,
  ][];
  return outsideTexts
    .filter(([text]) =>
      text
        .replace(dates, '')
        .split(separators)
        .some((part) => /\p{L}{2}/u.test(part) && !stored.includes(part.trim())),
    )
    .map(([text, where]) => `${where}: ${text}`);
}

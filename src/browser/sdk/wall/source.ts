import { readAnswer } from '../answer.ts';
import { callJson } from '../api.ts';
import { objectOf, queryText } from '../compat.ts';
import { withRetries } from '../retry.ts';
import type { Answer } from '../types.ts';
import { defaults } from './words.ts';

/** Search text and category; the empty text and null do not filter. */
export type Filter = { text: string; category: string | null };

export type WallPage = {
  answer: Answer;
  total: number;
  /** null on the last page. */
  nextCursor: string | null;
  categories: string[];
};

/** Loads a page. The first call opens a session, which later calls continue. Errors: SdkError */
export type WallSource = (filter: Filter, cursor: string | null) => Promise<WallPage>;

/** Number of offers per page. */
const pageSize = 24;

/** Parameters of a page's URL that do not belong to the user. */
const pageParameters = ['accountId', 'sdk_id', 'standalone', 'language', 'lang', 'open', 'key', 'api_key'];

/** Whether the service accepts an attribute, because a link may contain anything. */
const isAttribute = ([name, value]: [string, string]): boolean =>
  /^[\w.-]{1,64}$/.test(name) && !['__proto__', 'constructor', 'prototype'].includes(name) && value.length <= 512;

/**
 * Creates the source of the page's URL: by the signed link of an offer (`t`), or by the publisher's SDK id
 * (`accountId`).
 */
export function createSource(base: string, query: URLSearchParams): WallSource {
  let session: string | null = null;
  return async ({ text, category }, cursor) => {
    const parameters = { limit: pageSize, q: text, category, cursor: cursor ?? session };
    const nonEmpty = Object.entries(parameters).filter(([, value]) => value !== null && value !== '');
    const search = new URLSearchParams(queryText(nonEmpty));
    const raw = await withRetries(() => callJson('POST', urlOf(base, query, search), bodyOf(query)));
    const page = readPage(raw);
    session ??= page.session;
    return page;
  };
}

function urlOf(base: string, query: URLSearchParams, search: URLSearchParams): string {
  const token = query.get('t');
  search.set(token === null ? 'api_key' : 't', token ?? query.get('accountId') ?? query.get('sdk_id') ?? '');
  return `${base}${token === null ? '/native/v4/offerwall.json' : '/offerwall/offers.json'}?${search}`;
}

/** Body with all other parameters, which describe the user (docs/reference/fetch-offers.md#offerwall). */
function bodyOf(query: URLSearchParams): Record<string, string> {
  if (query.has('t')) return {};
  const attributes = [...query].filter(([name, value]) => !pageParameters.includes(name) && value !== '');
  return { placement: 'offerwall', ...objectOf(attributes.filter(isAttribute)) };
}

function readPage(raw: unknown): WallPage & { session: string | null } {
  const data = ((raw as { data?: unknown }).data ?? {}) as Record<string, unknown>;
  const textOrNull = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  return {
    answer: readAnswer(raw, {}, defaults),
    total: typeof data.total === 'number' ? data.total : 0,
    nextCursor: textOrNull(data.next_cursor),
    categories: Array.isArray(data.categories) ? data.categories.filter((name) => typeof name === 'string') : [],
    session: textOrNull(data.first_cursor),
  };
}

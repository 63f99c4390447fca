import { readAnswer } from '../answer.ts';
import { callJson } from '../api.ts';
import { objectOf, queryText } from '../compat.ts';
import { withRetries } from '../retry.ts';
import type { OffersResponse } from '../types.ts';
import { defaults } from './words.ts';

/** Search text and category. An empty string or a null category means no filter. */
export type Filter = { text: string; category: string | null };

export type WallPage = {
  answer: OffersResponse;
  total: number;
  /** Cursor of the next page, or null on the last page. */
  nextCursor: string | null;
  categories: string[];
};

/**
 * Loads a page of offers. The first call opens a session that later calls continue.
 * @throws SdkError
 */
export type WallSource = (filter: Filter, cursor: string | null) => Promise<WallPage>;

/** Number of offers per page. */
const pageSize = 24;

/** URL parameters of the page that are not user data. */
const pageParameters = ['accountId', 'sdk_id', 'standalone', 'language', 'lang', 'open', 'key', 'api_key'];

/** Returns whether the service accepts a parameter as an attribute. A page link may contain any parameters. */
const isAttribute = ([name, value]: [string, string]): boolean =>
  /^[\w.-]{1,64}$/.test(name) && !['__proto__', 'constructor', 'prototype'].includes(name) && value.length <= 512;

/**
 * Creates the offer source for the page's URL, which contains either an offer's signed link (`t`) or the publisher's
 * SDK ID (`accountId`).
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

/**
 * Returns the request body with all other parameters, which describe the user
 * (docs/reference/fetch-offers.md#offerwall).
 */
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

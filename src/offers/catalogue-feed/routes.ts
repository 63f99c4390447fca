import { type Static, type TSchema, Type } from '@sinclair/typebox';
import type { Caller } from '../../accounts/caller.ts';
import { callerOf } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { forLimitedKeys } from '../../management/http.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { namesEtag } from '../../platform/http/etag.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import { offerSchema } from '../answer-schemas.ts';
import { offerAt } from '../offer-view.ts';
import { buildCatalogueView, type CatalogueQuery, etagOf, pageOf } from './service.ts';

/** Maximum number of offers per page. */
const maxLimit = 1000;
/** Maximum number of values per filter. */
const maxListed = 1000;

const list = (description: string) => Type.Optional(Type.String({ maxLength: 10_000, description }));
const querystring = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `ads/offers`, or the SDK ID.' })),
  offer_id: list('IDs of offers to return, separated by commas.'),
  campaign_id: list('IDs of campaigns whose offers are returned, separated by commas.'),
  countries: list(
    'ISO 3166-1 alpha-2 codes, separated by commas. Returns offers that can be shown in at least one of the ' +
      'countries.',
  ),
  os: list(
    'Operating systems such as `ios,android`, separated by commas. Returns offers that can be shown on at least ' +
      'one of them.',
  ),
  limit: integerParameter(
    { minimum: 1, maximum: maxLimit },
    { description: `Offers per page, 1 to ${maxLimit}. Defaults to ${maxLimit}.` },
  ),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page.' })),
});

const { pixel, beacons, save_for_later_url, offerwall_url, qr_code_img, ...fields } = offerSchema.properties;
const codes = Type.Array(Type.String());
const entry = Type.Object(
  {
    ...(fields as Record<string, TSchema>),
    category: Type.String(),
    countries: Type.Object(
      { include: codes, exclude: codes },
      { description: 'Countries where the offer can be shown. If nothing is included, it can be shown everywhere.' },
    ),
  },
  { title: 'ListedOffer' },
);
const answer = Type.Object({
  data: Type.Object({
    offers: Type.Array(entry),
    count: Type.Integer(),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  }),
});

type CatalogueFeed = {
  auth: Authenticator<Caller>;
  tokens: TokenCodec;
  config: Config;
  now: () => number;
};

/**
 * Registers `GET /native/v3/catalog.json`, which returns all offers that a publisher may show, without starting a
 * session (docs/reference/fetch-offers.md#catalogue-feed).
 */
export async function catalogueRoutes(app: App, { auth, tokens, config, now }: CatalogueFeed): Promise<void> {
  const schema = {
    operationId: 'listCatalogue',
    summary: 'List the catalogue',
    description:
      'Returns the offers that the publisher can show, in pages, so that you can store a copy. Nothing is counted.',
    tags: ['Offers'],
    querystring,
    response: {
      200: answer,
      304: Type.Null({ description: 'The list has not changed since the version in `If-None-Match`.' }),
      ...errorAnswers(400, 401, 403),
    },
  };
  app.get(
    '/native/v3/catalog.json',
    { schema, preValidation: auth.requireKey('ads/offers'), ...forLimitedKeys },
    async (request, reply) => {
      const caller = callerOf(request);
      const { publisher } = caller;
      const { offers, next } = pageOf(publisher, { ...keptTo(caller, readQuery(request.query)), nowMs: now() });
      const views = offers.map((offer) =>
        buildCatalogueView(publisher, offerAt(offer, now()), { tokens, publicUrl: config.publicUrl }),
      );
      const text = JSON.stringify({
        data: { offers: views, count: views.length, next_cursor: next === null ? null : String(next) },
      });
      const etag = etagOf(text);
      reply.headers({ etag, 'cache-control': 'private, no-cache' });
      if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send(null);
      return reply.type('application/json; charset=utf-8').send(text as never);
    },
  );
}

type AskedOffers = Omit<CatalogueQuery, 'nowMs'>;

/**
 * Restricts a query to the campaigns that a limited API key may access. A key that is limited only to placements gets
 * no offers.
 */
function keptTo({ key }: Caller, query: AskedOffers): AskedOffers {
  const resources = key?.restrictions?.resources ?? null;
  if (resources === null) return query;
  const ids = [...(resources.campaigns ?? [])].filter((id) => query.campaignIds?.has(id) ?? true);
  return { ...query, campaignIds: new Set(ids) };
}

/**
 * Parses the query parameters.
 * @throws AppError invalid_request
 */
function readQuery({ offer_id, campaign_id, countries, os, limit, cursor }: Static<typeof querystring>): AskedOffers {
  const ids = (text: string | undefined, path: string): Set<number> | null => {
    const items = itemsOf(text, path, /^\d{1,15}$/, problem('idList'));
    return items === null ? null : new Set(items.map(Number));
  };
  const number = (text: string | undefined, path: string, otherwise: number, max: number): number => {
    if (text === undefined) return otherwise;
    if (!/^\d{1,10}$/.test(text) || Number(text) > max || (path === '/limit' && Number(text) === 0))
      throw invalid(path, problem('numberUpTo', { max }));
    return Number(text);
  };
  return {
    offerIds: ids(offer_id, '/offer_id'),
    campaignIds: ids(campaign_id, '/campaign_id'),
    countries:
      itemsOf(countries, '/countries', /^[A-Za-z]{2}$/, problem('countryList'))?.map((code) => code.toUpperCase()) ??
      null,
    systems:
      itemsOf(os, '/os', /^[A-Za-z][A-Za-z0-9_ -]{0,39}$/, problem('systemList'))?.map((name) =>
        name.toLowerCase().replaceAll(' ', '_'),
      ) ?? null,
    after: number(cursor, '/cursor', 0, 9_999_999_999),
    limit: number(limit, '/limit', maxLimit, maxLimit),
  };
}

/** Parses a comma-separated list. Returns null if it is empty or absent. */
function itemsOf(text: string | undefined, path: string, pattern: RegExp, message: Problem): string[] | null {
  const items = (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length > maxListed || items.some((item) => !pattern.test(item))) throw invalid(path, message);
  return items.length === 0 ? null : items;
}

const invalid = (path: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path, message }] });

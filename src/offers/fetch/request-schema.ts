import { type Static, Type } from '@sinclair/typebox';
import { maxPlacementLength } from '../../catalog/names.ts';
import { offersPerResponse } from '../../management/fields.ts';
import { describedAs, integerParameter, noNul, textOrNumber } from '../../platform/http/schemas.ts';

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, pattern: noNul, description }));

/** Maximum length of `language` (characters), which may be a whole `Accept-Language` header. */
const maxLanguageLength = 256;

/** Unreadable values are ignored, because released apps may send anything. */
const country = Type.Optional(
  Type.Unknown({
    description:
      'ISO 3166-1, two or three letters of any case; overrides the country of the IP address. ' +
      'Anything else is ignored.',
  }),
);

/** Schema of a number from 10 to 5000, as text. */
const timeoutText = Type.String({
  pattern: '^([1-9][0-9]{1,2}|[1-4][0-9]{3}|5000)$',
  description: 'Answer within this time (10–5000 ms), else with no offers.',
});

/**
 * Query of fetch-offers (docs/reference/fetch-offers.md#request). All values are text; a repeated parameter is invalid.
 */
export const fetchOffersQuery = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `ads/offers`, or the SDK id.' })),
  accountId: Type.Optional(Type.String({ description: 'The SDK id, as published native SDKs send it.' })),
  loyaltyboost: Type.Optional(
    Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal('2')], {
      description: '0 no incentive offers, 1 also, 2 only.',
    }),
  ),
  creative: Type.Optional(
    Type.Union([Type.Literal('0'), Type.Literal('1')], { description: '1: only offers with an image.' }),
  ),
  campaignId: integerParameter(
    { minimum: 1 },
    { pattern: '^[^,;|\\[]*$', description: 'Id of the one campaign whose offer is shown.' },
  ),
  country,
  pub_user_id: text(256, 'As in the body.'),
  timeout_ms: Type.Optional({ ...timeoutText, [describedAs]: { type: 'integer', minimum: 10, maximum: 5000 } }),
});

/**
 * Body of fetch-offers (docs/reference/fetch-offers.md#request-body). Further keys are the publisher's own attributes.
 */
export const fetchOffersBody = Type.Object(
  {
    placement: textOrNumber(
      maxPlacementLength,
      "Where the unit is shown. Required unless the publisher's `default_placement` is set.",
    ),
    ua: text(2048, "The end user's user agent; default: the User-Agent header."),
    ip: text(64, "The end user's address; absent or `auto`: the caller's."),
    ad_fp: textOrNumber(256, 'Unique id of the end user, for caps and opt-outs.'),
    pub_user_id: textOrNumber(256, "The publisher's non-PII user id; required for User Selected Perks and the wallet."),
    email_sha256: Type.Optional(
      Type.String({
        pattern: '^[0-9A-Fa-f]{64}$',
        description:
          "SHA-256 of the user's e-mail address in lower case without blanks, to find the user in audiences. Kept as " +
          'a keyed hash only.',
      }),
    ),
    dev: Type.Optional(
      Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal(0), Type.Literal(1), Type.Boolean()], {
        description: '1: a test answer; nothing is counted, and its rows are gone after a day.',
      }),
    ),
    country,
    creative: Type.Optional(
      Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal(0), Type.Literal(1), Type.Boolean()]),
    ),
    themeId: Type.Optional(
      Type.Unknown({ description: 'Id or key of a theme; also `theme_id`. What names no theme counts as not given.' }),
    ),
    theme_id: Type.Optional(Type.Unknown({ description: 'Old name of `themeId`.' })),
    language: text(
      maxLanguageLength,
      'What the end user reads: a BCP 47 tag, such as `pt-BR`; default: as `Accept-Language`, else the publisher’s.',
    ),
    timeout_ms: Type.Optional(
      Type.Union([Type.Integer({ minimum: 10, maximum: 5000 }), timeoutText], { description: 'As in the query.' }),
    ),
    consent: Type.Optional(
      Type.Unknown({
        description:
          'true, 1, "true", "1", "yes" or "granted": the user consents. Absent, null or empty: nothing is stated. ' +
          'Any other value refuses: neither identity nor history of the end user is used or kept, as with ' +
          '`Sec-GPC: 1`.',
      }),
    ),
    experiments: Type.Optional(
      Type.Unknown({ description: 'In a test: the arms of experiments, `{ key: arm }`. Else ignored.' }),
    ),
    user_agent: text(2048, 'Old name of `ua`.'),
    adpx_fp: textOrNumber(256, 'Old name of `ad_fp`.'),
    fingerprint: textOrNumber(256, 'Old name of `ad_fp`.'),
    key: Type.Optional(Type.String({ description: 'API key, where the query has none.' })),
    api_key: Type.Optional(Type.String({ description: 'API key, where the query has none.' })),
  },
  { title: 'FetchAtOnePlacement', additionalProperties: true },
);

/** Maximum number of placements in a call. */
export const maxCallPlacements = 10;

const placementOfCall = Type.Object(
  {
    name: Type.String({ maxLength: maxPlacementLength, pattern: noNul }),
    count: Type.Optional(offersPerResponse),
    theme_id: Type.Optional(Type.Unknown({ description: 'As in the body, for this placement alone.' })),
  },
  { additionalProperties: false },
);

/** Body of a call that may have several placements (docs/reference/fetch-offers.md#multiple-placements). */
export const fetchBody = Type.Object(
  {
    ...fetchOffersBody.properties,
    placements: Type.Optional(
      Type.Array(placementOfCall, {
        minItems: 1,
        maxItems: maxCallPlacements,
        description:
          'In place of `placement`: one session and one list of offers each, `data.placements`, in this order. ' +
          'No offer, campaign or exclusion group stands in two of them. `count`: most offers there. ' +
          'Entries that cannot be read are ignored.',
      }),
    ),
  },
  { title: 'FetchOffers', additionalProperties: true },
);

/** The same body for validation, where placements are checked one by one. */
export const readBody = Type.Object(
  { ...fetchOffersBody.properties, placements: Type.Optional(Type.Unknown()) },
  { additionalProperties: true },
);

export type FetchBody = Static<typeof fetchBody>;
export type FetchOffersQuery = Static<typeof fetchOffersQuery>;
export type FetchOffersBody = Static<typeof fetchOffersBody>;

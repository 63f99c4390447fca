import { type Static, Type } from '@sinclair/typebox';
import { maxPlacementLength } from '../../catalog/names.ts';
import { offersPerResponse } from '../../management/fields.ts';
import { describedAs, integerParameter, noNul, textOrNumber } from '../../platform/http/schemas.ts';

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, pattern: noNul, description }));

/** Maximum length of `language`, in characters. The field may contain a whole `Accept-Language` header. */
const maxLanguageLength = 256;

/** Unreadable country values are ignored rather than rejected, because apps in the field may send anything. */
const country = Type.Optional(
  Type.Unknown({
    description:
      'ISO 3166-1 code with two or three letters. It overrides the country of the IP address. Other values are ' +
      'ignored.',
  }),
);

/** Schema of an integer from 10 to 5000, as text. */
const timeoutText = Type.String({
  pattern: '^([1-9][0-9]{1,2}|[1-4][0-9]{3}|5000)$',
  description: 'Maximum response time in milliseconds, 10 to 5000. If it is exceeded, the response contains no offers.',
});

/**
 * Query schema of fetch-offers (docs/reference/fetch-offers.md#request). All values are strings. Repeated parameters
 * are invalid.
 */
export const fetchOffersQuery = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `ads/offers`, or the SDK ID.' })),
  accountId: Type.Optional(Type.String({ description: 'SDK ID, as sent by the published native SDKs.' })),
  loyaltyboost: Type.Optional(
    Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal('2')], {
      description: 'Incentive offers: 0 excludes them, 1 includes them, 2 returns only them.',
    }),
  ),
  creative: Type.Optional(
    Type.Union([Type.Literal('0'), Type.Literal('1')], { description: '1 returns only offers with an image.' }),
  ),
  campaignId: integerParameter(
    { minimum: 1 },
    { pattern: '^[^,;|\\[]*$', description: 'ID of the only campaign whose offers can be returned.' },
  ),
  country,
  pub_user_id: text(256, 'Same as in the body.'),
  timeout_ms: Type.Optional({ ...timeoutText, [describedAs]: { type: 'integer', minimum: 10, maximum: 5000 } }),
});

/** Body schema of fetch-offers (docs/reference/fetch-offers.md#request-body). Additional keys are custom attributes. */
export const fetchOffersBody = Type.Object(
  {
    placement: textOrNumber(
      maxPlacementLength,
      'Name of the placement. Required unless the publisher has a `default_placement`.',
    ),
    ua: text(2048, 'User agent of the end user. Defaults to the User-Agent header.'),
    ip: text(64, "IP address of the end user. Defaults to the caller's address. `auto` also selects it."),
    ad_fp: textOrNumber(256, 'Unique ID of the end user, for caps and opt-outs.'),
    pub_user_id: textOrNumber(
      256,
      "The publisher's own ID of the user, without personal data. Required for User Selected Perks and the wallet.",
    ),
    email_sha256: Type.Optional(
      Type.String({
        pattern: '^[0-9A-Fa-f]{64}$',
        description:
          "SHA-256 hash of the user's trimmed, lower-case e-mail address, to find the user in audiences. It is " +
          'stored only as a keyed hash.',
      }),
    ),
    dev: Type.Optional(
      Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal(0), Type.Literal(1), Type.Boolean()], {
        description: '1 marks a test: nothing is counted, and the data is deleted after a day.',
      }),
    ),
    country,
    creative: Type.Optional(
      Type.Union([Type.Literal('0'), Type.Literal('1'), Type.Literal(0), Type.Literal(1), Type.Boolean()]),
    ),
    themeId: Type.Optional(
      Type.Unknown({
        description: 'ID or key of a theme. `theme_id` is also accepted. An unknown theme is treated as absent.',
      }),
    ),
    theme_id: Type.Optional(Type.Unknown({ description: 'Deprecated alias of `themeId`.' })),
    language: text(
      maxLanguageLength,
      'Language of the end user as a BCP 47 tag, such as `pt-BR`. Defaults to the `Accept-Language` header, or ' +
        "else to the publisher's language.",
    ),
    timeout_ms: Type.Optional(
      Type.Union([Type.Integer({ minimum: 10, maximum: 5000 }), timeoutText], { description: 'Same as in the query.' }),
    ),
    consent: Type.Optional(
      Type.Unknown({
        description:
          'Consent of the end user. true, 1, "true", "1", "yes" and "granted" mean yes. If it is absent, `null` or ' +
          "empty, nothing is assumed. All other values mean no: the user's identity and history are neither used " +
          'nor stored, as with the header `Sec-GPC: 1`.',
      }),
    ),
    experiments: Type.Optional(
      Type.Unknown({ description: 'Arms of experiments as `{ key: arm }`. Only in tests; otherwise ignored.' }),
    ),
    user_agent: text(2048, 'Deprecated alias of `ua`.'),
    adpx_fp: textOrNumber(256, 'Deprecated alias of `ad_fp`.'),
    fingerprint: textOrNumber(256, 'Deprecated alias of `ad_fp`.'),
    key: Type.Optional(Type.String({ description: 'API key, if it is not in the query.' })),
    api_key: Type.Optional(Type.String({ description: 'API key, if it is not in the query.' })),
  },
  { title: 'FetchAtOnePlacement', additionalProperties: true },
);

/** Maximum number of placements per call. */
export const maxCallPlacements = 10;

const placementOfCall = Type.Object(
  {
    name: Type.String({ maxLength: maxPlacementLength, pattern: noNul }),
    count: Type.Optional(offersPerResponse),
    theme_id: Type.Optional(Type.Unknown({ description: 'Theme for this placement only, as in the body.' })),
  },
  { additionalProperties: false },
);

/** Body schema for a call with one or several placements (docs/reference/fetch-offers.md#multiple-placements). */
export const fetchBody = Type.Object(
  {
    ...fetchOffersBody.properties,
    placements: Type.Optional(
      Type.Array(placementOfCall, {
        minItems: 1,
        maxItems: maxCallPlacements,
        description:
          'Placements of one response, instead of `placement`. Each gets its own session and offers, in ' +
          '`data.placements` in the same order. An offer, campaign or exclusion group appears at most once. ' +
          '`count` is the maximum number of offers. Invalid entries are ignored.',
      }),
    ),
  },
  { title: 'FetchOffers', additionalProperties: true },
);

/** The same body schema as used for validation. It accepts any placements, because they are validated one by one. */
export const readBody = Type.Object(
  { ...fetchOffersBody.properties, placements: Type.Optional(Type.Unknown()) },
  { additionalProperties: true },
);

export type FetchBody = Static<typeof fetchBody>;
export type FetchOffersQuery = Static<typeof fetchOffersQuery>;
export type FetchOffersBody = Static<typeof fetchOffersBody>;

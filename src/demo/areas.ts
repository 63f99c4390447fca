import { readFile } from 'node:fs/promises';
import type { Offer, Publisher } from '../catalog/types.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { Logger } from '../platform/logger.ts';
import { embeddedDemoIds } from './catalogue.ts';

/** Calls the management API with the demo key. Rejects if the response is not 2xx. */
export type CallApi = (method: string, path: string, body: object | string) => Promise<void>;

type Draft = { resource: string; offer?: string; campaign?: string; changes: object; note: string };
type Cap = { campaign: string; rules?: object; goal?: { metric: string; count: number; days: number } };

/** Content of demo/areas.json. Offers are identified by their titles, and campaigns by their names. */
type Areas = {
  publisher: object;
  exchange_rates: object;
  controls: { rule_details: { days?: number }[] };
  metric_alerts: object[];
  audiences: { key: string; name: string; rule?: object; visitors?: number }[];
  experiment: { key: string };
  draft_experiment: object;
  messages: object;
  coupons: { offer: string; codes: object }[];
  caps: Cap[];
  drafts: Draft[];
  translations: Record<string, Record<string, string>>;
};

type AreaDeps = {
  call: CallApi;
  publisher: Publisher;
  offers: readonly Offer[];
  nowMs: number;
  /** Start of campaigns with a budget, before the generated activity, so that its plan covers all of it. */
  campaignStartMs: number;
  logger: Logger;
};

/** Identifier of a generated visitor. */
export const visitorOf = (number: number): string => `demo-visitor-${number}`;

/**
 * Fills the areas of the dashboard that the demo catalogue leaves empty, through the management API: audiences, coupon
 * pools, metric alerts, experiments, drafts, translations and settings. A call that fails is logged, and the others are
 * still made.
 * @returns the key of the running experiment
 */
export async function fillAreas({
  call,
  publisher,
  offers,
  nowMs,
  campaignStartMs,
  logger,
}: AreaDeps): Promise<string> {
  const areas = JSON.parse(await readFile(new URL('../../demo/areas.json', import.meta.url), 'utf8')) as Areas;
  const attempt = (method: string, path: string, body: object | string): Promise<void> =>
    call(method, `/manage/v1/${path}`, body).catch((err: unknown) => logger.warn({ err, path }, 'demo call failed'));
  const offerId = (title: string | undefined) => offers.find((offer) => offer.copy.title === title)?.id;
  const campaignId = (name: string | undefined) => offers.find(({ campaign }) => campaign.name === name)?.campaign.id;

  await attempt('PATCH', `publishers/${publisher.id}`, areas.publisher);
  await attempt('PUT', 'exchange-rates', areas.exchange_rates);
  const details = areas.controls.rule_details.map(({ days, ...detail }) => ({
    ...detail,
    ...(days !== undefined && { ends_at: new Date(nowMs + days * dayMs).toISOString() }),
  }));
  await attempt('PUT', `publishers/${publisher.id}/controls`, { ...areas.controls, rule_details: details });
  for (const { visitors = 0, ...audience } of areas.audiences) {
    await attempt('POST', 'audiences', audience);
    const ids = Array.from({ length: visitors }, (_, index) => visitorOf(index + 1));
    if (visitors > 0) await attempt('PUT', `audiences/${audience.key}/members`, { ids });
  }
  for (const alert of areas.metric_alerts) await attempt('POST', 'metric-alerts', alert);
  await attempt('PATCH', 'perk-messages/settings', areas.messages);
  for (const { offer, codes } of areas.coupons) await attempt('POST', `offers/${offerId(offer)}/coupon-codes`, codes);
  const schedule = { start_at: new Date(campaignStartMs).toISOString() };
  for (const { campaign, goal, rules } of areas.caps) {
    const by = goal && new Date(nowMs + goal.days * dayMs).toISOString();
    const body = {
      ...(rules && { rules: { ...rules, schedule } }),
      ...(goal && { goal: { metric: goal.metric, count: goal.count, by } }),
    };
    await attempt('PATCH', `campaigns/${campaignId(campaign)}`, body);
  }
  for (const { offer, campaign, ...draft } of areas.drafts)
    await attempt('POST', 'drafts', { ...draft, row_id: offerId(offer) ?? campaignId(campaign) });
  await attempt('POST', 'translations', translationFile(areas.translations, offerId));
  await attempt('POST', 'experiments', areas.draft_experiment);
  await attempt('POST', 'experiments', areas.experiment);
  await attempt('POST', `experiments/${areas.experiment.key}/start`, {});
  return areas.experiment.key;
}

function translationFile(translations: Areas['translations'], offerId: (title: string) => number | undefined): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const lines = Object.entries(translations).flatMap(([title, texts]) =>
    Object.entries(texts).map(([name, text]) => [offerId(title), name, quoted(text)].join(',')),
  );
  return ['offer_id,text,de', ...lines, ''].join('\n');
}

/** Creates a function that calls the API of this process over HTTP. */
export const callOwnApi =
  (url: string): CallApi =>
  async (method, path, body) => {
    const isFile = typeof body === 'string';
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${embeddedDemoIds.key}`,
        'content-type': isFile ? 'text/csv' : 'application/json',
      },
      body: isFile ? body : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  };

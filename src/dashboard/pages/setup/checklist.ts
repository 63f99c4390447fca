import { firstKeyAt } from '../../../accounts/keys.ts';
import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Publisher } from '../../../catalog/types.ts';
import { createdMs, type FirstRow, firstRows } from '../../../catalog-admin/kinds.ts';
import type { FailFast } from '../../../platform/db/health.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { type MessageKey, t, tHtml } from '../../../platform/i18n/messages.ts';
import { recordedMetrics } from '../../../reports/activity.ts';
import { icon } from '../../../shell/components.ts';
import type { Pages } from '../../../shell/pages.ts';
import { hasDelivered } from '../../../webhooks/delivery-store.ts';
import { firstEndpointRef } from '../../../webhooks/endpoint-store.ts';
import type { PageServices } from '../services.ts';

/** Setup step, with a link to the page where it is done. */
type Step = { key: SetupStep; path: string; to: MessageKey };

/** Setup steps for the catalogue. An advertiser and a campaign are needed before the first offer. */
const catalogueSteps: readonly Step[] = [
  { key: 'advertiser', path: '/advertisers/new', to: 'nav.advertisers' },
  { key: 'campaign', path: '/campaigns/new', to: 'nav.campaigns' },
  { key: 'offer', path: '/offers/new', to: 'nav.offers' },
];

const callSteps: readonly Step[] = [
  { key: 'key', path: '/settings/keys', to: 'nav.keys' },
  { key: 'theme', path: '/settings/themes/new', to: 'nav.themes' },
  { key: 'fetch', path: '/integration', to: 'nav.integration' },
  { key: 'impression', path: '/integration', to: 'nav.integration' },
  { key: 'perks', path: '/settings', to: 'nav.settings' },
  { key: 'endpoint', path: '/settings/webhooks', to: 'nav.webhooks' },
  { key: 'selection', path: '/integration', to: 'nav.integration' },
  { key: 'delivery', path: '/deliveries', to: 'nav.deliveries' },
];

/** Renders a link with an `id` attribute, so that the link keeps the keyboard focus when the checklist is refreshed. */
const linkTo = (key: SetupStep, href: string, text: string): Html =>
  html`<a id="setup-${key}" href="${href}">${text}</a>`;

type Checklist = { deps: SetupDeps; failFast: FailFast };

export function checklistPages(pages: Pages<PublisherContext>, checklist: Checklist): void {
  pages.get('/setup', 'analyst', async (context) => ({ fragment: await setupChecklist(checklist, context) }));
}

/**
 * Renders the checklist of setup steps, from the first API key to the first delivered webhook. Completed steps are
 * ticked. Renders nothing once all steps are complete.
 */
export async function setupChecklist({ deps, failFast }: Checklist, context: PublisherContext): Promise<Html> {
  const { publisher, path } = context;
  const { done, endpoint } = await failFast(() => setupProgress(deps, publisher));
  // A publisher that only shows other publishers' offers needs no campaign of its own.
  const isServed = done.has('offer') && !done.has('campaign');
  const steps = isServed ? callSteps : [...catalogueSteps, ...callSteps];
  // A publisher that receives webhooks without perks does not need them.
  const needsPerks = publisher.uspEnabled || !done.has('delivery');
  const required = steps.filter(({ key }) => needsPerks || (key !== 'perks' && key !== 'selection'));
  const open = required.filter(({ key }) => !done.has(key));
  if (open.length === 0) return nothing;
  const item = ({ key, path: to, to: name }: Step) => {
    const isDone = done.has(key);
    const state = isDone ? t('setup.done') : t('setup.toDo');
    return html`
      <li class="${isDone && 'done'}">
        <span class="tick">${isDone && icon('check')}<span class="sr">${state}</span></span>
        <div>
          <strong>${t(`setup.step_${key}`)}</strong>
          ${!isDone && html`<p class="hint">${t(`setup.hint_${key}`)} ${linkTo(key, path(to), t(name))}</p>`}
          ${key === 'delivery' && !isDone && endpoint !== null && secretHint(path(`/settings/webhooks/${endpoint}`))}
        </div>
      </li>`;
  };
  return html`
    <section class="card checklist" aria-label="${t('setup.title')}"
      hx-get="${path('/setup')}" hx-trigger="every 3s" hx-swap="outerHTML">
      <div class="card-head">
        <div>
          <h2>${t('setup.title')}</h2>
          <p class="hint">${t('setup.progress', { done: required.length - open.length, all: required.length })}</p>
        </div>
      </div>
      <ol>${required.map(item)}</ol>
    </section>`;
}

/** Renders how to verify the webhook. The secret was shown once, so the endpoint's page offers to rotate it. */
const secretHint = (endpointPath: string): Html => html`
  <p class="hint">${tHtml('setup.secret', {
    guide: (text) => html`<a id="setup-verify" href="/docs/guides/receiving-webhooks#verifying">${text}</a>`,
    rotate: (text) => html`<a id="setup-secret" href="${endpointPath}#secret">${text}</a>`,
  })}</p>`;

/** Setup steps, from a new publisher to its first delivered webhook. */
type SetupStep = FirstRow | 'key' | 'theme' | 'fetch' | 'impression' | 'perks' | 'endpoint' | 'selection' | 'delivery';

type SetupDeps = PageServices['deps'];

/** Completed setup steps, and the first endpoint as its page path names it. */
type SetupProgress = { done: ReadonlySet<SetupStep>; endpoint: string | null };

/**
 * Returns the completed setup steps. Activity before the publisher was created is ignored, which excludes the demo's
 * generated history. A publisher that fetches offers has access: websites use the public SDK ID instead of a key.
 */
async function setupProgress({ pool }: SetupDeps, publisher: Publisher): Promise<SetupProgress> {
  const { id } = publisher;
  const [sinceMs, keyMs, endpoint, rows] = await Promise.all([
    createdMs(pool, id),
    firstKeyAt(pool, id),
    firstEndpointRef(pool, id),
    firstRows(pool, publisher),
  ]);
  const [metrics, delivered] = await Promise.all([
    recordedMetrics(pool, id, ['sessions', 'impressions', 'selections'], sinceMs),
    hasDelivered(pool, id, sinceMs),
  ]);
  const done = new Set<SetupStep>(rows);
  const has = (step: SetupStep, isDone: boolean): unknown => isDone && done.add(step);
  has('key', keyMs !== null || metrics.has('sessions'));
  has('theme', publisher.defaultTheme !== null);
  has('fetch', metrics.has('sessions'));
  has('impression', metrics.has('impressions'));
  has('perks', publisher.uspEnabled && [...publisher.themes.values()].some(({ uspEnabled }) => uspEnabled));
  has('endpoint', endpoint !== null);
  has('selection', metrics.has('selections'));
  has('delivery', delivered);
  return { done, endpoint };
}

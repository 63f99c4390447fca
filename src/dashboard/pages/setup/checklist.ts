import type { FailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { link } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { icon } from '../../shell/icons.ts';
import type { PageServices, Pages } from '../../shell/pages.ts';
import { type SetupStep, setupProgress } from './progress.ts';

type Step = { key: SetupStep; text: string; hint: string; path: string; to: string };

const steps: readonly Step[] = [
  {
    key: 'key',
    text: 'Create an API key',
    hint: 'Your server calls with it; pages and apps use the public SDK id.',
    path: '/settings/keys',
    to: 'API keys',
  },
  {
    key: 'fetch',
    text: 'Fetch offers',
    hint: 'Paste a snippet, or its curl command into a terminal.',
    path: '/integration',
    to: 'Integration',
  },
  {
    key: 'impression',
    text: 'Show an offer',
    hint: 'The SDK fires the impression beacon; your own code requests its pixel URL.',
    path: '/integration',
    to: 'Integration',
  },
  {
    key: 'endpoint',
    text: 'Set a webhook endpoint',
    hint: 'Where your server takes webhooks.',
    path: '/settings/webhooks',
    to: 'Webhooks',
  },
  {
    key: 'selection',
    text: 'Confirm a selected perk',
    hint: 'Select an offer and confirm; that writes the webhook.',
    path: '/integration',
    to: 'Integration',
  },
  {
    key: 'delivery',
    text: 'Receive the webhook',
    hint: 'Your server answers it with a status of 200 to 299.',
    path: '/deliveries',
    to: 'Deliveries',
  },
];

type Checklist = { services: Pick<PageServices, 'deps'>; failFast: FailFast };

export function checklistPages(pages: Pages<PublisherContext>, checklist: Checklist): void {
  pages.get('/setup', 'analyst', async (context) => ({ fragment: await setupChecklist(checklist, context) }));
}

/** The steps from the first key to the first delivered webhook, ticked as they happen; empty once all are done. */
export async function setupChecklist({ services, failFast }: Checklist, context: PublisherContext): Promise<Html> {
  const { publisher, path } = context;
  const done = await failFast(() => setupProgress(services.deps.pool, publisher));
  const wanted = steps.filter(({ key }) => key !== 'selection' || publisher.uspEnabled);
  const left = wanted.filter(({ key }) => !done.has(key));
  if (left.length === 0) return nothing;
  const item = ({ key, text, hint, path: to, to: name }: Step) => {
    const isDone = done.has(key);
    return html`
      <li class="${isDone && 'done'}">
        <span class="tick">${isDone && icon('check')}<span class="sr">${isDone ? 'Done:' : 'To do:'}</span></span>
        <div>
          <strong>${text}</strong>
          ${!isDone && html`<p class="hint">${hint} ${link(path(to), name)}</p>`}
        </div>
      </li>`;
  };
  return html`
    <section class="card checklist" aria-label="First steps"
      hx-get="${path('/setup')}" hx-trigger="every 3s" hx-swap="outerHTML">
      <div class="card-head">
        <div>
          <h2>First steps</h2>
          <p class="hint">${wanted.length - left.length} of ${wanted.length} done. Steps are ticked as they happen.</p>
        </div>
      </div>
      <ol>${wanted.map(item)}</ol>
    </section>`;
}

import { offers } from '../../../catalog/management/offers.ts';
import type { Explanation } from '../../../decision/types.ts';
import { loadModel } from '../../../offers/model/posteriors.ts';
import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { badge, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { keyIn, queryText } from '../../shell/management.ts';
import type { Pages, Tools } from '../../shell/pages.ts';
import { type Asked, explainFor } from './explain-offers.ts';

const names = ['placement', 'country', 'platform', 'device', 'custom'] as const;
const shown = 100;
const any = { value: '', text: 'Any' };
const choices = (values: readonly string[]) => [any, ...values.map((value) => ({ value, text: value }))];

/** "Why is this not shown?": the decision for somebody who is imagined, with the rule that decided about each offer. */
export function explainPages(pages: Pages<PublisherContext>, { deps, store }: Tools): void {
  const { pool, catalog, now } = deps;
  const guarded = createFailFast(deps.dbHealth);

  pages.get('/offers/:key/why', 'analyst', async (context) => {
    const view = await store.get(context, offers, keyIn(context));
    const { publisher, path } = context;
    const asked = Object.fromEntries(names.map((name) => [name, queryText(context, name)])) as Asked;
    asked.placement ||= [...publisher.placements.keys()][0] ?? 'checkout';
    const model = await guarded(() => loadModel(pool, catalog.current(), now()));
    const explanations = explainFor(publisher, asked, { model, nowMs: now(), seed: 1 });
    const own = explanations.find(({ offer }) => offer.id === view.id);
    return {
      title: 'Why is this not shown?',
      lead: String(view.title || `Offer ${view.id}`),
      nav: 'offers',
      trail: [
        { text: 'Offers', href: path('/offers') },
        { text: String(view.title || `Offer ${view.id}`), href: path(`/offers/${view.id}`) },
      ],
      body: html`<form class="filters" method="get" action="${path(`/offers/${view.id}/why`)}">${askedFields(asked)}<button class="button">Ask</button></form>
${verdict(own, asked)}
<h2 class="section">All offers, as they would be chosen now</h2>
${table(
  'Offers',
  [{ text: 'Offer' }, { text: 'Outcome' }, { text: 'Rank', numeric: true }, { text: 'Why' }],
  explanations.slice(0, shown).map((one) => row(context, one, one === own)),
)}
<p class="hint">For a user who was never seen before. Caps and budgets count as unused here; equal offers are drawn by chance each time.</p>`,
    };
  });
}

function askedFields(asked: Asked): Html {
  const form = createForm(asked);
  return html`${form.input('placement', { label: 'Placement' })}${form.input('country', { label: 'Country', placeholder: 'US' })}${form.select('platform', { label: 'Platform', choices: choices(['web', 'ios', 'android']) })}${form.select('device', { label: 'Device', choices: choices(['desktop', 'mobile', 'tablet', 'tv']) })}${form.input('custom', { label: 'Own keys', placeholder: 'cart_total=50' })}`;
}

function verdict(own: Explanation | undefined, { placement }: Asked): Html {
  if (own === undefined)
    return html`<div class="notice warn"><p>The offer’s campaign is not offered to this publisher.</p></div>`;
  const isShown = own.position !== null;
  return html`<div class="notice ${isShown ? 'done' : 'warn'}" role="status"><p><strong>${isShown ? 'It would be shown' : 'It would not be shown'}</strong> at “${placement}”. ${own.reason}</p></div>`;
}

const row = ({ path }: PublisherContext, { offer, position, rank, reason }: Explanation, isOwn: boolean) => [
  html`<a href="${path(`/offers/${offer.id}`)}">${isOwn ? html`<strong>${offer.copy.title || `Offer ${offer.id}`}</strong>` : offer.copy.title || `Offer ${offer.id}`}</a>`,
  position === null ? badge('Not shown') : badge(`Position ${position}`, 'good'),
  rank ?? nothing,
  reason,
];

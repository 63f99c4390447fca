import { offers } from '../../../catalog/management/offers.ts';
import type { Explanation } from '../../../decision/types.ts';
import { loadModel } from '../../../offers/model/posteriors.ts';
import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { badge, link, notice, strongLink, table } from '../../shell/components.ts';
import { keyIn, type PublisherContext, queryText } from '../../shell/context.ts';
import { type Choice, createForm } from '../../shell/forms.ts';
import type { PageServices, Pages } from '../../shell/pages.ts';
import { explainOffers, type SampleRequest } from './explain-offers.ts';
import { offerName } from './offer-list.ts';

const parameters = ['placement', 'country', 'platform', 'device', 'custom'] as const;
const maxOffers = 100;

/** The decision for a sample request, with the reason for each offer. */
export function explainPages(pages: Pages<PublisherContext>, { deps, management }: PageServices): void {
  const { pool, catalog, now } = deps;
  const failFast = createFailFast(deps.dbHealth);

  pages.get('/offers/:key/why', 'analyst', async (context) => {
    const view = await management.get(context, offers, keyIn(context));
    const { publisher, path } = context;
    const sample = sampleOf(context);
    const model = await failFast(() => loadModel(pool, catalog.current(), now()));
    const explanations = explainOffers(publisher, sample, { model, nowMs: now(), seed: 1 });
    const offerPath = path(`/offers/${view.id}`);
    return {
      title: 'Explain decision',
      lead: offerName(view),
      nav: 'offers',
      trail: [
        { text: 'Offers', href: path('/offers') },
        { text: offerName(view), href: offerPath },
      ],
      body: html`
        <form class="filters" method="get" action="${offerPath}/why">
          ${sampleFields(sample)}
          <button class="button">Explain</button>
        </form>
        ${result(context, explanations, Number(view.id), sample)}`,
    };
  });
}

function sampleOf(context: PublisherContext): SampleRequest {
  const sample = Object.fromEntries(parameters.map((name) => [name, queryText(context, name)])) as SampleRequest;
  const [firstPlacement = 'checkout'] = context.publisher.placements.keys();
  return { ...sample, placement: sample.placement || firstPlacement };
}

const choices = (values: readonly string[]): Choice[] => [
  { value: '', text: 'Any' },
  ...values.map((value) => ({ value, text: value })),
];

function sampleFields(sample: SampleRequest): Html {
  const form = createForm(sample);
  return html`
    ${form.input('placement', { label: 'Placement' })}
    ${form.input('country', { label: 'Country', placeholder: 'US' })}
    ${form.select('platform', { label: 'Platform', choices: choices(['web', 'ios', 'android']) })}
    ${form.select('device', { label: 'Device', choices: choices(['desktop', 'mobile', 'tablet', 'tv']) })}
    ${form.input('custom', { label: 'Custom attributes', placeholder: 'cart_total=50' })}`;
}

const columns = [{ text: 'Offer' }, { text: 'Outcome' }, { text: 'Rank', numeric: true }, { text: 'Reason' }];

function result(
  context: PublisherContext,
  explanations: readonly Explanation[],
  offerId: number,
  { placement }: SampleRequest,
): Html {
  const own = explanations.find(({ offer }) => offer.id === offerId);
  const rows = explanations.slice(0, maxOffers).map((one) => offerRow(context, one, one === own));
  return html`
    ${own === undefined ? notServed : verdict(own, placement)}
    <h2 class="section">All offers</h2>
    ${table('Offers', columns, rows)}
    <p class="hint">
      For a new user, with unused caps and budgets. Offers of equal rank are ordered randomly on each request.
    </p>`;
}

const notServed = notice('warn', html`<p>The offer’s campaign is not served to this publisher.</p>`);

function verdict({ position, reason }: Explanation, placement: string): Html {
  const isShown = position !== null;
  return html`
    <div class="notice ${isShown ? 'done' : 'warn'}" role="status">
      <p><strong>${isShown ? 'Shown' : 'Not shown'}</strong> at placement “${placement}”. ${reason}</p>
    </div>`;
}

function offerRow({ path }: PublisherContext, { offer, position, rank, reason }: Explanation, isOwn: boolean) {
  const name = offer.copy.title || `Offer ${offer.id}`;
  const href = path(`/offers/${offer.id}`);
  return [
    isOwn ? strongLink(href, name) : link(href, name),
    position === null ? badge('Not shown') : badge(`Position ${position}`, 'good'),
    rank ?? nothing,
    reason,
  ];
}

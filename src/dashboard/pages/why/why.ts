import type { Offer } from '../../../catalog/snapshot/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { type Choice, columns, createForm, moreFields } from '../../shell/forms.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';
import { answerOf } from './answer.ts';
import { createFindDecision } from './find-decision.ts';
import { type Question, questionIn } from './question.ts';

/** Offers listed to choose from (count). */
const maxChoices = 500;

/** Why an offer is shown to a visitor, or not: to a user now, in a stored session, or to a made-up visitor. */
export function whyPages(app: App, services: PageServices): void {
  const findDecision = createFindDecision(services.deps);
  publisherPages(app, services).get('/why', 'analyst', async (context) => {
    const question = questionIn(context);
    const found = await findDecision(context.publisher, question);
    return {
      title: 'Why (not) shown',
      lead: 'The decision about an offer, with the real caps, budgets, opt-outs and pacing. Nothing is counted.',
      nav: 'why',
      body: html`${questionForm(context, question)}${answerOf(context, found, question)}`,
    };
  });
}

const choices = (values: readonly string[]): Choice[] => [
  { value: '', text: 'Any' },
  ...values.map((value) => ({ value, text: value })),
];

function questionForm({ publisher, path }: PublisherContext, question: Question): Html {
  const form = createForm(question);
  const offers = publisher.index.offers.slice(0, maxChoices);
  const placements = [...publisher.placements.keys()].map((name) => ({ value: name, text: name }));
  return html`
    <form class="card why" method="get" action="${path('/why')}">
      ${question.campaign !== '' && html`<input type="hidden" name="campaign" value="${question.campaign}">`}
      ${columns([
        form.select('offer', { label: 'Offer', choices: [{ value: '', text: 'All' }, ...offers.map(offerChoice)] }),
        form.input('user', { label: 'User', hint: 'Their pub_user_id or ad_fp, as you send it.' }),
        form.input('session', { label: 'Session id', hint: 'Explains the stored decision of the session.' }),
      ])}
      ${moreFields(
        'Made-up visitor',
        html`
          ${columns([
            form.select('placement', { label: 'Placement', choices: placements }),
            form.input('country', { label: 'Country', placeholder: 'US' }),
            form.input('region', { label: 'Region', placeholder: 'US-CA' }),
            form.input('city', { label: 'City', placeholder: 'San Diego' }),
            form.select('platform', { label: 'Platform', choices: choices(['web', 'ios', 'android']) }),
            form.select('device', { label: 'Device', choices: choices(['desktop', 'mobile', 'tablet', 'tv']) }),
          ])}
          ${form.input('custom', { label: 'Custom attributes', placeholder: 'cart_total=50, plan=plus' })}`,
      )}
      <button class="button main">Explain</button>
    </form>`;
}

const offerChoice = ({ id, copy, campaign }: Offer): Choice => ({
  value: String(id),
  text: `${copy.title || `Offer ${id}`} · ${campaign.advertiserName} (${id})`,
});

import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Offer } from '../../../catalog/types.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { type Choice, columns, createForm, moreFields } from '../../../shell/forms.ts';
import type { Shell } from '../../../shell/layout.ts';
import { answerOf, offerTitle } from './answer.ts';
import { createFindDecision, type DecisionSearch } from './find-decision.ts';
import { type Question, questionIn } from './question.ts';

/** Maximum number of offers in the select field. */
const maxChoices = 500;

/**
 * Registers the pages that explain why an offer is or is not shown: to a user now, in a stored session, or to a
 * hypothetical visitor.
 */
export function whyPages(app: App, shell: Shell, search: DecisionSearch): void {
  const findDecision = createFindDecision(search);
  publisherPages(app, shell).get('/why', 'analyst', async (context) => {
    const question = questionIn(context);
    const decision = await findDecision(context.publisher, question);
    return {
      title: t('nav.why'),
      lead: t('why.lead'),
      nav: 'why',
      body: html`${questionForm(context, question)}${await answerOf(context, decision, question)}`,
    };
  });
}

const choices = (values: readonly string[]): Choice[] => [
  { value: '', text: t('why.any') },
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
        form.select('offer', {
          label: t('why.offer'),
          choices: [{ value: '', text: t('common.all') }, ...offers.map(offerChoice)],
        }),
        form.input('user', { label: t('why.user'), hint: t('why.userHint') }),
        form.input('session', { label: t('why.sessionId'), hint: t('why.sessionHint') }),
      ])}
      ${moreFields(
        t('why.visitor'),
        html`
          ${columns([
            form.select('placement', { label: t('why.placement'), choices: placements }),
            form.input('country', { label: t('why.country'), placeholder: t('why.countryExample') }),
            form.input('region', { label: t('why.region'), placeholder: t('why.regionExample') }),
            form.input('city', { label: t('why.city'), placeholder: t('why.cityExample') }),
            form.select('platform', { label: t('why.platform'), choices: choices(['web', 'ios', 'android']) }),
            form.select('device', { label: t('why.device'), choices: choices(['desktop', 'mobile', 'tablet', 'tv']) }),
          ])}
          ${form.input('custom', { label: t('why.custom'), placeholder: t('why.customExample') })}`,
      )}
      <button class="button main">${t('why.explain')}</button>
    </form>`;
}

const offerChoice = (offer: Offer): Choice => ({
  value: String(offer.id),
  text: `${offerTitle(offer)} · ${offer.campaign.advertiserName} (${offer.id})`,
});

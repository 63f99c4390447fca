import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Campaign } from '../../catalog/types.ts';
import { comparisonOf } from '../../decision/comparison.ts';
import type { EligibilityIndex } from '../../decision/eligibility.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { currencyOf } from '../../reports/service.ts';
import { card, descriptionList, notice } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { change, count, moneyFormat, percent } from '../../shell/format.ts';
import { columns, createForm } from '../../shell/forms.ts';
import type { Shell } from '../../shell/layout.ts';
import { type Alternative, alternatives } from '../off-policy/alternatives.ts';
import { intervalOf } from '../off-policy/estimate.ts';
import type { CheckRanking, RankingCheck } from '../off-policy/ranking-check.ts';

type RankingPageDeps = { catalog: CatalogStore; now: () => number; check: CheckRanking };

/** Page with the estimated earnings of another ranking in the last days. */
export function rankingPages(app: App, shell: Shell, { catalog, check, now }: RankingPageDeps): void {
  publisherPages(app, shell).get('/ranking', 'analyst', async (context) => {
    const other = alternativeIn(context);
    const { publisher } = context;
    const comparison = comparisonOf(publisher.index as EligibilityIndex, publisher, now());
    const currency = comparison?.currency ?? currencyOf(catalog.current(), publisher.id);
    return {
      title: t('ranking.title'),
      lead: t('ranking.lead'),
      nav: 'ranking',
      body: html`
        ${questionForm(context)}
        ${other === null ? nothing : answerOf(await check(context.publisher.id, other), currency)}`,
    };
  });
}

/** Selected ranking. Null without a selection, or if the campaign no longer exists. */
function alternativeIn(context: PublisherContext): Alternative | null {
  const ranking = alternatives.find((name) => name === queryText(context, 'ranking'));
  if (ranking === undefined) return null;
  if (ranking !== 'without_campaign') return { ranking, campaignId: null };
  const campaignId = Number(queryText(context, 'campaign'));
  const campaign = campaignsOf(context).find(({ id }) => id === campaignId);
  return campaign === undefined ? null : { ranking, campaignId: campaign.id };
}

const campaignsOf = ({ publisher }: PublisherContext): Campaign[] => [
  ...new Map(publisher.index.offers.map(({ campaign }) => [campaign.id, campaign])).values(),
];

function questionForm(context: PublisherContext): Html {
  const form = createForm({ ranking: queryText(context, 'ranking'), campaign: queryText(context, 'campaign') });
  const campaigns = campaignsOf(context).map(({ id, name }) => ({ value: String(id), text: `${name} (${id})` }));
  return html`
    <form class="card form" method="get" action="${context.path('/ranking')}">
      ${columns([
        form.select('ranking', {
          label: t('ranking.other'),
          choices: alternatives.map((value) => ({ value, text: t(`ranking.${value}`) })),
        }),
        form.select('campaign', {
          label: t('ranking.campaign'),
          hint: t('ranking.campaignHint'),
          choices: [{ value: '', text: '–' }, ...campaigns],
        }),
      ])}
      <div class="form-end">
        <button class="button main">${t('ranking.ask')}</button>
        <p class="hint">${t('ranking.takes')}</p>
      </div>
    </form>`;
}

function answerOf(check: RankingCheck, currency: string | null): Html {
  const money = moneyFormat(currency);
  const { estimate, low, high } = intervalOf(check);
  const revenue = (micros: number): string => money(micros / 1000);
  const lift = { lift: change(estimate), low: change(low), high: change(high) };
  return html`
    ${
      check.isEnough
        ? notice('info', html`<p>${tHtml('ranking.answer', lift)}</p>`)
        : notice('warn', html`<p>${t('ranking.tooLittle')}</p>`)
    }
    ${card(
      t('ranking.how'),
      descriptionList([
        [t('ranking.actual'), check.sessions === 0 ? '–' : revenue(check.actualMicros)],
        [t('ranking.estimated'), check.isEnough ? revenue(check.otherMicros) : '–'],
        [t('ranking.sessions'), count(check.sessions)],
        [t('ranking.effective'), count(Math.round(check.effectiveSessions))],
        [t('ranking.coverage'), percent(Math.min(1, check.coverage))],
      ]),
      { lead: t('ranking.howLead') },
    )}`;
}

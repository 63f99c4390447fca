import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Offer, Publisher } from '../../../catalog/types.ts';
import { type Explanation, explain, type FailingRule, failingRules } from '../../../decision/explain.ts';
import type { Reason } from '../../../decision/reason.ts';
import type { DecisionContext, DecisionInput } from '../../../decision/types.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { runInSlices } from '../../../platform/lib/slices.ts';
import { dayMs, minuteMs } from '../../../platform/lib/time.ts';
import { fromMicros } from '../../../platform/money.ts';
import { badge, descriptionList, link, notice, strongLink, table } from '../../../shell/components.ts';
import { moment, momentText, moneyFormat, perLocale, roughPercent } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import { influenceText, type ReasonFormat, reasonText } from '../../fetch/reason-text.ts';
import type { UserDecision } from '../../user-decisions.ts';
import type { FoundDecision } from './find-decision.ts';
import type { Question } from './question.ts';

const maxOffers = 100;
/** Number of competing offers that are shown at first. */
const firstOffers = 10;

/**
 * Renders the answer to a question: the verdict, all failing rules, the visitor, the competing offers, and the user's
 * sessions.
 */
export async function answerOf(context: PublisherContext, decision: FoundDecision, question: Question): Promise<Html> {
  const { input, problem } = decision;
  const warning = problem !== null && notice('warn', html`<p>${problem}</p>`);
  if (input === null) return html`${warning}`;
  const explanations = await runInSlices(explain(input));
  const own = ownOf(explanations, question);
  const isAsked = question.offer !== '' || question.campaign !== '';
  const notServed = notice('failed', html`<p>${tHtml('why.notServed')}</p>`);
  return html`
    ${warning}
    ${own !== undefined ? verdict(context, own, input) : isAsked && notServed}
    ${visitorCard(context, decision, input.context)}
    ${competition(context, explanations, own)}
    ${decision.sessions.length > 0 && sessionList(context, decision.sessions, question)}`;
}

/**
 * Returns the explanation for the offer in the question or, if none is given, for the offer of the campaign that came
 * closest to being shown.
 */
function ownOf(explanations: readonly Explanation[], { offer, campaign }: Question): Explanation | undefined {
  if (offer !== '') return explanations.find((explanation) => explanation.offer.id === Number(offer));
  return campaign === ''
    ? undefined
    : explanations.find((explanation) => explanation.offer.campaign.id === Number(campaign));
}

function verdict({ publisher }: PublisherContext, own: Explanation, input: DecisionInput): Html {
  const { position, reason, rule, rank, influences } = own;
  const failing = failingRules(input, own.offer.id);
  const isShown = position !== null;
  const entries = failing.length > 0 ? failing : [{ rule: rule as FailingRule['rule'], reason }];
  const texts = entries.map((entry) => ({ rule: entry.rule, text: reasonFor(publisher, entry.reason) }));
  const notShown = tHtml('why.notShownBecause', { reason: texts[0]?.text ?? '' });
  return html`
    <div class="notice verdict ${isShown ? 'done' : 'failed'}" role="status">
      <p>${isShown ? tHtml('why.shown', { position, title: titleOf(own), rank: rank ?? '' }) : notShown}</p>
    </div>
    ${!isShown && rules(texts, failing.length)}
    ${influences.length > 0 && html`<p class="hint">${influencesText(publisher, influences)}</p>`}`;
}

/** Renders the list of failing rules. The verdict already contains a single one or the reason of the ranking. */
function rules(texts: readonly { rule: FailingRule['rule']; text: string }[], failing: number): Html {
  if (failing === 0) return html`<p class="hint">${t('why.noRuleFails')}</p>`;
  if (failing === 1) return nothing;
  return html`
    <h2 class="section">${t('why.why')}</h2>
    <p class="hint">${t('why.rulesFail', { count: failing })}</p>
    <ol class="reasons">
      ${texts.map(({ rule, text }) => html`<li>${badge(t(`why.rule_${rule}`))}<span>${text}</span></li>`)}
    </ol>`;
}

/** Renders values as they appear in the API, excluded from automatic translation. */
const asIs = (values: readonly string[]): Html => html`<span translate="no">${values.join(', ')}</span>`;

export const offerTitle = ({ id, copy }: Offer): string => copy.title || t('why.offerName', { id });
const titleOf = ({ offer }: Explanation): string => offerTitle(offer);

function visitorCard({ publisher }: PublisherContext, { kind, at }: FoundDecision, visitor: DecisionContext): Html {
  const place = [visitor.geo.country, visitor.geo.region, visitor.geo.city].filter((part) => part !== null);
  const device = [visitor.device, visitor.os, visitor.platform].filter((part) => part !== null);
  const custom = [...visitor.custom].map(([name, value]) => `${name}=${value}`);
  return html`
    <h2 class="section">${t('why.decidedFor')}</h2>
    ${descriptionList([
      [
        t('why.decision'),
        at === null ? t(`why.kind_${kind}`) : html`${t(`why.kind_${kind}`)}, ${moment(publisher, at, 'second')}`,
      ],
      [t('why.placement'), asIs([visitor.placement])],
      [t('why.place'), place.length > 0 ? asIs(place) : t('why.unknown')],
      [t('why.device'), device.length > 0 ? asIs(device) : t('why.unknown')],
      [t('why.attributes'), custom.length > 0 ? asIs(custom) : t('why.none')],
    ])}`;
}

const columns = () => [
  { text: t('why.offer') },
  { text: t('why.outcome') },
  { text: t('why.rank'), numeric: true },
  { text: t('why.firstReason') },
];

function competition(
  { path, publisher }: PublisherContext,
  explanations: readonly Explanation[],
  own: Explanation | undefined,
): Html {
  const row = (explanation: Explanation) => {
    const href = path(`/offers/${explanation.offer.id}`);
    return [
      explanation === own ? strongLink(href, titleOf(explanation)) : link(href, titleOf(explanation)),
      explanation.position === null
        ? badge(t('why.notShown'))
        : badge(t('why.position', { position: explanation.position }), 'good'),
      explanation.rank ?? nothing,
      reasonFor(publisher, explanation.reason),
    ];
  };
  const listed = explanations.slice(0, maxOffers);
  const others = listed.slice(firstOffers);
  const othersTable = table(t('why.offers'), columns(), others.map(row));
  return html`
    <h2 class="section">${t('why.competition')}</h2>
    ${table(t('why.offers'), columns(), listed.slice(0, firstOffers).map(row))}
    ${others.length > 0 && moreFields(t('why.moreOffers', { count: others.length }), othersTable)}
    <p class="hint">
      ${explanations.length > maxOffers && t('why.firstOf', { shown: maxOffers, total: explanations.length })}
      ${t('why.competitionHint')}
    </p>`;
}

const sessionColumns = () => [
  { text: t('why.time') },
  { text: t('why.placement') },
  { text: t('why.offersShown') },
  { text: t('why.decision') },
];

function sessionList(context: PublisherContext, sessions: readonly UserDecision[], { offer }: Question): Html {
  const { publisher, path } = context;
  const offerOf = offer === '' ? '' : `&offer=${encodeURIComponent(offer)}`;
  const rows = sessions.map(({ sessionId, at, placement, offerIds, isStored }) => [
    moment(publisher, at, 'second'),
    placement,
    offerIds.length === 0
      ? t('why.none')
      : html`${offerIds.map((id) => html`${link(path(`/offers/${id}`), String(id))} `)}`,
    isStored ? link(path(`/why?session=${sessionId}${offerOf}`), t('why.explainThis')) : t('why.notStored'),
  ]);
  return html`
    <h2 class="section">${t('why.sessionsOf')}</h2>
    ${table(t('why.sessions'), sessionColumns(), rows)}`;
}

/** Monday, 1 January 2024. Used as a base date, because formatting a weekday or time of day requires a date. */
const clockMs = Date.UTC(2024, 0, 1);
const clockFormat = perLocale(
  (locale, kind) =>
    new Intl.DateTimeFormat(locale, {
      timeZone: 'UTC',
      ...(kind === 'weekday' ? { weekday: 'long' } : { timeStyle: 'short' }),
    }),
);
const countFormat = perLocale((locale) => new Intl.NumberFormat(locale));

/** Describes an explanation's influences for the dashboard user, with times in the publisher's time zone. */
const influencesText = (publisher: Publisher, influences: Explanation['influences']): string =>
  influences.map((influence) => influenceText(influence, formatOf(publisher))).join('; ');

const reasonFor = (publisher: Publisher, reason: Reason): string => reasonText(reason, formatOf(publisher));

function formatOf(publisher: Publisher): ReasonFormat {
  return {
    count: (value) => countFormat('').format(value),
    share: roughPercent,
    moment: (atMs) => momentText(publisher, atMs),
    weekday: (day) => clockFormat('weekday').format(clockMs + day * dayMs),
    timeOfDay: (minute) => clockFormat('time').format(clockMs + minute * minuteMs),
    amount: (micros, currency) => moneyFormat(currency)(fromMicros(micros)),
  };
}

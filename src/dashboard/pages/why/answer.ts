import { explain } from '../../../decision/explain/explain.ts';
import { type FailingRule, failingRules } from '../../../decision/explain/failing-rules.ts';
import type { DecisionContext, DecisionInput, Explanation } from '../../../decision/types.ts';
import type { UserDecision } from '../../../offers/decision-log/user-decisions.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { badge, descriptionList, link, notice, strongLink, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment, plural } from '../../shell/format.ts';
import type { FoundDecision } from './find-decision.ts';
import type { Question } from './question.ts';

const maxOffers = 100;

/** The answer to a question: verdict, all failing rules, the visitor, the competition, and the user's sessions. */
export function answerOf(context: PublisherContext, found: FoundDecision, question: Question): Html {
  const { input, problem } = found;
  const warning = problem !== null && notice('warn', html`<p>${problem}</p>`);
  if (input === null) return html`${warning}`;
  const explanations = explain(input);
  const own = ownOf(explanations, question);
  const isAsked = question.offer !== '' || question.campaign !== '';
  const notServed = notice(
    'failed',
    html`<p><strong>Not shown:</strong> the offer is not served to this publisher.</p>`,
  );
  return html`
    ${warning}
    ${own !== undefined ? verdict(own, input) : isAsked && notServed}
    ${visitorCard(context, found, input.context)}
    ${competition(context, explanations, own)}
    ${found.sessions.length > 0 && sessionList(context, found.sessions, question)}`;
}

/** The offer asked about; of a campaign, the one that came furthest. */
function ownOf(explanations: readonly Explanation[], { offer, campaign }: Question): Explanation | undefined {
  if (offer !== '') return explanations.find((one) => one.offer.id === Number(offer));
  return campaign === '' ? undefined : explanations.find((one) => one.offer.campaign.id === Number(campaign));
}

function verdict(own: Explanation, input: DecisionInput): Html {
  const { position, reason, rule, rank } = own;
  const failing = failingRules(input, own.offer.id);
  const isShown = position !== null;
  const first = failing[0]?.reason ?? reason;
  return html`
    <div class="notice verdict ${isShown ? 'done' : 'failed'}" role="status">
      <p><strong>${isShown ? `Shown at position ${position}` : 'Not shown'}:</strong>
        ${isShown ? `“${titleOf(own)}” was the best choice there, rank ${rank}.` : first}</p>
    </div>
    ${!isShown && rules(failing, rule, reason)}`;
}

/** All rules that fail; without any, what the ranking said. */
function rules(failing: readonly FailingRule[], rule: string | null, reason: string): Html {
  const entries = failing.length > 0 ? failing : [{ rule: rule ?? '', reason }];
  const lead =
    failing.length > 0
      ? `${plural(failing.length, 'rule fails', 'rules fail')}; each alone keeps the offer from being shown.`
      : 'No rule fails: the offer takes part, and competition decides.';
  return html`
    <h2 class="section">Why</h2>
    <p class="hint">${lead}</p>
    <ol class="reasons">
      ${entries.map((one) => html`<li>${badge(one.rule.replaceAll('_', ' '))}<span>${one.reason}</span></li>`)}
    </ol>`;
}

const titleOf = ({ offer }: Explanation): string => offer.copy.title || `Offer ${offer.id}`;

const kinds = { session: 'Stored decision', user: 'This user, now', visitor: 'Made-up visitor, now' };

function visitorCard({ publisher }: PublisherContext, { kind, at }: FoundDecision, visitor: DecisionContext): Html {
  const place = [visitor.geo.country, visitor.geo.region, visitor.geo.city].filter((part) => part !== null);
  const device = [visitor.device, visitor.os, visitor.platform].filter((part) => part !== null);
  const custom = [...visitor.custom].map(([name, value]) => `${name}=${value}`);
  return html`
    <h2 class="section">Decided for</h2>
    ${descriptionList([
      ['Decision', at === null ? kinds[kind] : html`${kinds[kind]}, ${moment(publisher, at, 'second')}`],
      ['Placement', visitor.placement],
      ['Place', place.join(', ') || 'unknown'],
      ['Device', device.join(', ') || 'unknown'],
      ['Attributes', custom.join(', ') || 'none'],
    ])}`;
}

const columns = [{ text: 'Offer' }, { text: 'Outcome' }, { text: 'Rank', numeric: true }, { text: 'First reason' }];

function competition(
  { path }: PublisherContext,
  explanations: readonly Explanation[],
  own: Explanation | undefined,
): Html {
  const row = (one: Explanation) => {
    const href = path(`/offers/${one.offer.id}`);
    return [
      one === own ? strongLink(href, titleOf(one)) : link(href, titleOf(one)),
      one.position === null ? badge('Not shown') : badge(`Position ${one.position}`, 'good'),
      one.rank ?? nothing,
      one.reason,
    ];
  };
  const shown = explanations.slice(0, maxOffers);
  return html`
    <h2 class="section">What it ranked against</h2>
    ${table('Offers of the decision', columns, shown.map(row))}
    <p class="hint">
      ${explanations.length > maxOffers && `The first ${maxOffers} of ${explanations.length} offers.`}
      Caps, budgets, opt-outs and pacing are the real ones. Offers of equal priority are ordered by chance and expected
      revenue, anew on each request.
    </p>`;
}

const sessionColumns = [{ text: 'Time' }, { text: 'Placement' }, { text: 'Offers shown' }, { text: 'Decision' }];

function sessionList(context: PublisherContext, sessions: readonly UserDecision[], { offer }: Question): Html {
  const { publisher, path } = context;
  const offerOf = offer === '' ? '' : `&offer=${encodeURIComponent(offer)}`;
  const rows = sessions.map(({ sessionId, at, placement, offerIds, kept }) => [
    moment(publisher, at, 'second'),
    placement,
    offerIds.length === 0 ? 'none' : html`${offerIds.map((id) => html`${link(path(`/offers/${id}`), String(id))} `)}`,
    kept ? link(path(`/why?session=${sessionId}${offerOf}`), 'Explain this decision') : 'not stored',
  ]);
  return html`
    <h2 class="section">Sessions of this user</h2>
    ${table('Sessions', sessionColumns, rows)}`;
}

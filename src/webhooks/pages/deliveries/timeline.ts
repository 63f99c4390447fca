import type { Publisher } from '../../../catalog/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { badge, codeBlock, type Tone } from '../../../shell/components.ts';
import { milliseconds, moment } from '../../../shell/format.ts';
import { moreFields } from '../../../shell/forms.ts';
import type { DeliveryStatus } from '../../deliveries/filter.ts';
import type { viewOfWholeDelivery } from '../../deliveries/view.ts';
import { kindOf } from '../../destinations/kinds.ts';
import { classifiedError } from '../../last-failure.ts';
import { headersText, timingList } from '../endpoints/test-result.ts';

type AttemptView = ReturnType<typeof viewOfWholeDelivery>['attempts'][number];

const tones: Readonly<Record<DeliveryStatus, Tone>> = {
  delivered: 'good',
  failed: 'bad',
  held: 'warn',
  pending: 'info',
};
export const statusBadge = (status: DeliveryStatus): Html => badge(t(`deliveryStatus.${status}`), tones[status]);

/** Number of attempts from which the earlier ones are collapsed, and number of the latest ones that then stay open. */
const manyAttempts = 6;
const latestAttempts = 3;

/** Renders the attempts of a delivery, oldest first, each with its request and response. */
export function timeline(attempts: readonly AttemptView[], publisher: Publisher): Html {
  const listOf = (part: readonly AttemptView[]): Html =>
    html`<ol class="timeline">${part.map((attempt) => attemptItem(attempt, publisher))}</ol>`;
  if (attempts.length < manyAttempts) return listOf(attempts);
  const earlier = attempts.slice(0, -latestAttempts);
  return html`
    ${moreFields(t('deliveries.earlierAttempts', { count: earlier.length }), listOf(earlier))}
    ${listOf(attempts.slice(-latestAttempts))}`;
}

function attemptItem(attempt: AttemptView, publisher: Publisher): Html {
  const { outcome, error, response, timing } = attempt;
  const isDelivered = outcome === 'delivered';
  const state = outcome ?? (attempt.finished_at === null ? 'in_progress' : 'unknown');
  const kind = isDelivered ? 'good' : outcome === null ? '' : 'bad';
  const next = attempt.next_try_at;
  // Pulled events have neither a request nor a response.
  const hasDetails = !isDelivered || response !== null;
  return html`
    <li class="${kind}">
      <strong>${moment(publisher, attempt.started_at, 'second')}</strong>
      ${badge(t(`attemptOutcome.${state}`), kind || 'info')}
      ${response !== null && badge(String(response.status))}
      ${timing !== null && html`<span>${milliseconds(timing.total_ms)}</span>`}
      ${error !== null && html`<span>${classifiedError(error, response?.status ?? null)}</span>`}
      ${next !== null && nextAttempt(publisher, next)}
      ${hasDetails && moreFields(t('deliveries.requestAndAnswer'), attemptDetails(attempt))}
    </li>`;
}

const nextAttempt = (publisher: Publisher, at: string): Html =>
  html`<span class="hint">${tHtml('deliveries.nextAttemptAt', { time: moment(publisher, at, 'second') })}</span>`;

const requestBlock = (text: string): Html =>
  html`<div><h3>${t('deliveries.request')}</h3>${codeBlock(t('deliveries.request'), text)}</div>`;

function attemptDetails({ timing, request, response, remote_address: address }: AttemptView): Html {
  const target = request && (kindOf(request.url) === 'http' ? `${request.method} ${request.url}` : request.url);
  const requestText = request && `${target}\n${headersText(request.headers)}`;
  return html`
    ${timing !== null && timingList(timing)}
    <div class="columns wide">
      ${requestText !== null && requestBlock(requestText)}
      ${response !== null && html`<div><h3>${t('deliveries.answer')}</h3>${answerBlock(response)}</div>`}
    </div>
    ${address !== null && html`<p class="hint">${t('deliveries.sentTo', { address })}</p>`}`;
}

/** Renders the status, headers and body of a response. */
export function answerBlock(response: NonNullable<AttemptView['response']>): Html {
  const { status, headers, body, body_bytes: bytes, truncated } = response;
  return html`
    ${codeBlock(t('deliveries.answer'), `${status}\n${headersText(headers)}\n\n${body ?? ''}`)}
    ${truncated && html`<p class="hint">${t('deliveries.truncated', { bytes })}</p>`}`;
}

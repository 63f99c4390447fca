import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { viewOfWholeDelivery } from '../../../webhooks/deliveries/view.ts';
import { badge, codeBlock, type Tone } from '../../shell/components.ts';
import { moment } from '../../shell/format.ts';
import { moreFields } from '../../shell/forms.ts';
import { headersText, timingList } from '../webhooks/test-result.ts';

type AttemptView = ReturnType<typeof viewOfWholeDelivery>['attempts'][number];

const tones: Readonly<Record<string, Tone>> = { delivered: 'good', failed: 'bad', held: 'warn', pending: 'info' };
export const statusBadge = (status: string): Html => badge(status, tones[status] ?? 'plain');

/** The attempts of a delivery, oldest first, each with request and response. */
export const timeline = (attempts: readonly AttemptView[], publisher: Publisher): Html =>
  html`<ol class="timeline">${attempts.map((attempt) => attemptItem(attempt, publisher))}</ol>`;

function attemptItem(attempt: AttemptView, publisher: Publisher): Html {
  const { outcome, error, response, timing } = attempt;
  const isDelivered = outcome === 'delivered';
  const state = outcome ?? (attempt.finished_at === null ? 'in progress' : 'unknown');
  const kind = isDelivered ? 'good' : outcome === null ? '' : 'bad';
  const next = attempt.next_try_at;
  return html`
    <li class="${kind}">
      <strong>${moment(publisher, attempt.started_at, 'second')}</strong>
      ${badge(state.replaceAll('_', ' '), kind || 'info')}
      ${response !== null && badge(String(response.status))}
      ${timing !== null && html`<span>${timing.total_ms} ms</span>`}
      ${error !== null && html`<span>${error.class}: ${error.message}</span>`}
      ${next !== null && html`<span class="hint">next attempt ${moment(publisher, next, 'second')}</span>`}
      ${moreFields('Request and response', attemptDetails(attempt))}
    </li>`;
}

function attemptDetails({ timing, request, response, remote_address: address }: AttemptView): Html {
  const requestText = request && `${request.method} ${request.url}\n${headersText(request.headers)}`;
  const responseText = response && `${response.status}\n${headersText(response.headers)}\n\n${response.body ?? ''}`;
  const truncated = response?.truncated === true && `Truncated; received ${response.body_bytes} bytes.`;
  return html`
    ${timing !== null && timingList(timing)}
    ${requestText !== null && html`<h3>Request</h3>${codeBlock('Request', requestText)}`}
    ${responseText !== null && html`<h3>Response</h3>${codeBlock('Response', responseText)}`}
    ${truncated !== false && html`<p class="hint">${truncated}</p>`}
    ${address !== null && html`<p class="hint">Sent to ${address}.</p>`}`;
}

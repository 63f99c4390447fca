import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { viewOfWholeDelivery } from '../../../webhooks/deliveries/view.ts';
import { badge, type Tone } from '../../shell/components.ts';
import { moment } from '../../shell/format.ts';
import { headersText, timingFacts } from '../webhooks/test-result.ts';

type AttemptView = ReturnType<typeof viewOfWholeDelivery>['attempts'][number];

const tones: Readonly<Record<string, Tone>> = { delivered: 'good', failed: 'bad', held: 'warn', pending: 'info' };
export const deliveryTone = (status: string): Tone => tones[status] ?? 'plain';

/** The attempts of a delivery, oldest first, each with what was sent and what came back. */
export const timeline = (attempts: readonly AttemptView[], publisher: Publisher): Html =>
  html`<ol class="timeline">${attempts.map((attempt) => item(attempt, publisher))}</ol>`;

function item(attempt: AttemptView, publisher: Publisher): Html {
  const good = attempt.outcome === 'delivered';
  const state = attempt.outcome ?? (attempt.finished_at === null ? 'under way' : 'unknown');
  return html`<li class="${good ? 'good' : attempt.outcome === null ? '' : 'bad'}"><strong>${moment(publisher, new Date(attempt.started_at), 'second')}</strong>${badge(state.replaceAll('_', ' '), good ? 'good' : attempt.outcome === null ? 'info' : 'bad')}${attempt.response === null ? nothing : badge(String(attempt.response.status))}${attempt.timing === null ? nothing : html`<span>${attempt.timing.total_ms} ms</span>`}${attempt.error === null ? nothing : html`<span>${attempt.error.class}: ${attempt.error.message}</span>`}${attempt.next_try_at === null ? nothing : html`<span class="hint">next ${moment(publisher, new Date(attempt.next_try_at), 'second')}</span>`}
<details class="more"><summary>What was sent and what came back</summary>
${attempt.timing === null ? nothing : timingFacts(attempt.timing)}
${attempt.request === null ? nothing : html`<h3>Request</h3><pre class="block" tabindex="0" aria-label="Request">${`${attempt.request.method} ${attempt.request.url}\n${headersText(attempt.request.headers)}`}</pre>`}
${attempt.response === null ? nothing : html`<h3>Answer</h3><pre class="block" tabindex="0" aria-label="Answer">${`${attempt.response.status}\n${headersText(attempt.response.headers)}\n\n${attempt.response.body ?? ''}`}</pre>${attempt.response.truncated ? html`<p class="hint">Cut after ${attempt.response.body_bytes} bytes.</p>` : nothing}`}
${attempt.remote_address === null ? nothing : html`<p class="hint">Sent to ${attempt.remote_address}.</p>`}</details></li>`;
}

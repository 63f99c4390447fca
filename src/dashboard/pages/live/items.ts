import type { Publisher } from '../../../catalog/snapshot/types.ts';
import type { LiveCall } from '../../../offers/live-calls/live-calls.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { badge, codeBlock, link } from '../../shell/components.ts';
import { publisherPath } from '../../shell/context.ts';
import { moment, plural } from '../../shell/format.ts';
import { moreFields } from '../../shell/forms.ts';
import { adviceOf } from './advice.ts';
import type { LiveRequest } from './requests.ts';

const eventTexts = { impression: 'impression', click: 'click', no_thanks: 'no thanks', close: 'close' } as const;

/** An answered fetch with its events; with request and answer where they were recorded. */
export function sessionItem(request: LiveRequest, call: LiveCall | undefined, publisher: Publisher): Html {
  const why = publisherPath(publisher.id, `/why?session=${request.sessionId}`);
  const { sessionId, country, wrappedAt } = request;
  const events = Object.entries(eventTexts).flatMap(([kind, text]) => {
    const count = request.events[kind] ?? 0;
    return count === 0 ? [] : [badge(`${count} ${text}`, kind === 'click' ? 'good' : 'info')];
  });
  return html`<li id="request-${sessionId}" data-kind="${call === undefined ? 'answered' : kindOf(call)}">
    ${moment(publisher, request.at, 'second')}
    ${call !== undefined && stateBadge(call)}
    <strong>${request.placement}</strong>
    <span>${plural(request.offers, 'offer')}</span>
    ${country !== null && html`<span>${country}</span>`}
    ${request.dev && badge('dev', 'warn')}
    ${events}
    ${wrappedAt !== null && badge(`confirmed, ${plural(request.selected ?? 0, 'perk')}`, 'good')}
    <code class="hint">${link(why, sessionId)}</code>
    ${call !== undefined && callDetails(call, publisher)}
  </li>`;
}

/** Any other call. */
export const callItem = ({ id, at, call }: { id: string; at: Date; call: LiveCall }, publisher: Publisher): Html =>
  html`<li id="call-${id}" data-kind="${kindOf(call)}">
    ${moment(publisher, at, 'second')}
    ${stateBadge(call)}
    <code>${call.method} ${call.path}</code>
    <span>${call.status}</span>
    ${call.error !== null && html`<span>${call.error.message}</span>`}
    ${callDetails(call, publisher)}
  </li>`;

type Kind = 'refused' | 'partly' | 'answered';
const kindOf = ({ status, notes }: LiveCall): Kind =>
  status >= 400 ? 'refused' : notes.length > 0 ? 'partly' : 'answered';

function stateBadge(call: LiveCall): Html {
  const kind = kindOf(call);
  if (kind === 'refused') return badge('refused', 'bad');
  return kind === 'partly' ? badge('accepted in part', 'warn') : nothing;
}

function callDetails(call: LiveCall, publisher: Publisher): Html {
  const advice = adviceOf(call, publisher);
  return html`
    ${advice.length > 0 && html`<ul class="advice">${advice.map((one) => html`<li>${one}</li>`)}</ul>`}
    ${moreFields(
      'Request and answer',
      html`
        <div class="columns wide">
          <div><h3>Request</h3>${codeBlock('Request', requestText(call))}</div>
          <div><h3>Answer</h3>${codeBlock('Answer', answerText(call))}</div>
        </div>`,
    )}`;
}

function requestText({ method, path, query, body }: LiveCall): string {
  const parameters = Object.entries((query ?? {}) as Record<string, unknown>).map(
    ([name, value]) => `${name}=${value}`,
  );
  const url = parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
  return `${method} ${url}\n\n${body === null ? '(no JSON body)' : JSON.stringify(body, null, 2)}`;
}

const answerText = ({ status, ms, answer }: LiveCall): string =>
  `${status} in ${ms} ms\n\n${answer === null ? '(no JSON, or too long)' : JSON.stringify(answer, null, 2)}`;
